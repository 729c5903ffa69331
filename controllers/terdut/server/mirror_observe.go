package server

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// credentialsStatus is what the status says of keys after a pass. What the pass
// did not come to stays as it was.
func credentialsStatus(server *v1alpha1.TerdutServer, seen Seen) *v1alpha1.ServerCredentialsStatus {
	next := &v1alpha1.ServerCredentialsStatus{}
	if server.Status.Credentials != nil {
		next = server.Status.Credentials.DeepCopy()
	}
	if server.DeletionTimestamp == nil {
		next.Mode = effectiveMode(server, seen.KeysIssued)
	}
	if got := seen.Tenants; got != nil {
		// Those that are not to be seen come first: nothing else remembers them.
		all := slices.Concat(seen.Unwatched.Mirrors, got.Mirrors)
		next.Mirrors = int32(len(all)) //nolint:gosec // a number of namespaces
		next.MirrorNamespaces = firstMirrors(all)
	}
	if equality.Semantic.DeepEqual(next, &v1alpha1.ServerCredentialsStatus{}) {
		return nil
	}
	return next
}

func firstMirrors(namespaces []string) []string {
	return slices.Clone(namespaces[:min(len(namespaces), maxMirrorNames)])
}

// tenantParts are conditions about what the namespaces of teams got. They are
// present only while they are true and keep nothing from being ready.
func tenantParts(server *v1alpha1.TerdutServer, seen Seen, next *v1alpha1.ServerCredentialsStatus) []status.Part {
	var parts []status.Part
	if next != nil && len(next.Exposed) > 0 {
		var namespaces []string
		for _, x := range next.Exposed {
			namespaces = append(namespaces, x.Namespace)
		}
		parts = append(parts, status.True(v1alpha1.ConditionCredentialsExposed, v1alpha1.ReasonMirrorRemoved,
			"these namespaces lost their copy of the operator's key and may know it until it is revoked: "+namesOf(namespaces)))
	}
	if seen.Tenants == nil {
		if c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionMirrorsIncomplete); c != nil {
			parts = append(parts, status.Part{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
		return parts
	}
	name := v1alpha1.MirrorSecretName(server.Name, server.Namespace)
	if refused := seen.Tenants.Refused; len(refused) > 0 {
		return append(parts, status.True(v1alpha1.ConditionMirrorsIncomplete, v1alpha1.ReasonMirrorRefused, fmt.Sprintf(
			"Secret %q belongs to somebody else in these namespaces, which get no copy of the key: %s", name, namesOf(refused))))
	}
	if failed := seen.Tenants.Failed; len(failed) > 0 {
		return append(parts, status.True(v1alpha1.ConditionMirrorsIncomplete, v1alpha1.ReasonApplyFailed, fmt.Sprintf(
			"Secret %q cannot be written in these namespaces: %s", name, namesOf(failed))))
	}
	return parts
}

// namesOf names namespaces once each, in order, and at most fifteen.
func namesOf(namespaces []string) string {
	const most = 15
	names := slices.Clone(namespaces)
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
