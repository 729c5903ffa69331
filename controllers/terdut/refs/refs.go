// Package refs knows who refers to whom among the custom resources, and
// indexes it in the manager's cache, so that a change of one object wakes
// exactly those that use it.
package refs

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// Names of the indices.
const (
	// TeamsByServer finds TerdutTeams by "namespace/name" of their TerdutServer.
	TeamsByServer = "refs.server"
	// ByTeam finds what refers to a TerdutTeam, in its namespace, by the team's
	// name.
	ByTeam = "refs.team"
	// AskingByServer finds TerdutTeams that ask for a team which is on their
	// server already, by "namespace/name" of that TerdutServer.
	AskingByServer = "refs.asking"
	// DisputedByServer finds what lives on a server and has recorded an object
	// that another resource has recorded too, by "namespace/name" of the recorded
	// TerdutServer.
	DisputedByServer = "refs.disputed"
	// ServersBySecret finds TerdutServers, in the Secret's namespace, by the
	// name of a Secret that their spec names.
	ServersBySecret = "refs.secret"
)

// ServerOf is the TerdutServer that a team refers to.
func ServerOf(team *v1alpha1.TerdutTeam) types.NamespacedName {
	key := types.NamespacedName{Namespace: team.Spec.ServerRef.Namespace, Name: team.Spec.ServerRef.Name}
	if key.Namespace == "" {
		key.Namespace = team.Namespace
	}
	return key
}

// SecretsOf are the names of the Secrets that the spec of a server names, in
// its own namespace.
func SecretsOf(server *v1alpha1.TerdutServer) []string {
	spec := &server.Spec
	named := []*v1alpha1.SecretKeyRef{spec.Database.PasswordSecretRef, spec.Database.CASecretRef}
	if spec.Notify != nil {
		named = append(named, spec.Notify.TokenSecretRef)
	}
	if spec.OIDC != nil {
		named = append(named, spec.OIDC.ClientSecretRef)
	}
	if spec.Bootstrap != nil {
		named = append(named, spec.Bootstrap.AdminKeySecretRef)
	}
	if spec.External != nil {
		named = append(named, spec.External.CASecretRef, &spec.External.AdminKeySecretRef)
	}
	var out []string
	for _, ref := range named {
		if ref != nil && ref.Name != "" {
			out = append(out, ref.Name)
		}
	}
	return out
}

// Disputed is the TerdutServer that a status records, if another resource has
// recorded the same object.
func Disputed(s *v1alpha1.RemoteStatus) (types.NamespacedName, bool) {
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionSynced)
	if c == nil || c.Reason != v1alpha1.ReasonDuplicateClaim || s.Remote == nil {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: s.Remote.ServerNamespace, Name: s.Remote.ServerName}, true
}

// RemoteOf is what an object that lives on a server records about that; nil for
// any other object.
func RemoteOf(o client.Object) *v1alpha1.RemoteStatus {
	switch o := o.(type) {
	case *v1alpha1.TerdutTeam:
		return &o.Status.RemoteStatus
	case *v1alpha1.TerdutEscalationRule:
		return &o.Status.RemoteStatus
	case *v1alpha1.TerdutDeadmanSwitch:
		return &o.Status.RemoteStatus
	case *v1alpha1.TerdutAlertSource:
		return &o.Status.RemoteStatus
	default:
		return nil
	}
}

// disputed is the key of DisputedByServer.
func disputed(o client.Object) []string {
	if server, is := Disputed(RemoteOf(o)); is {
		return []string{server.String()}
	}
	return nil
}

// Index adds every index of this package. It is called once, before the
// manager starts.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	byTeam := func(teamRef func(client.Object) string) client.IndexerFunc {
		return func(o client.Object) []string { return []string{teamRef(o)} }
	}
	for _, index := range []struct {
		object  client.Object
		field   string
		extract client.IndexerFunc
	}{
		{&v1alpha1.TerdutTeam{}, TeamsByServer, func(o client.Object) []string {
			return []string{ServerOf(o.(*v1alpha1.TerdutTeam)).String()}
		}},
		{&v1alpha1.TerdutTeam{}, AskingByServer, func(o client.Object) []string {
			team := o.(*v1alpha1.TerdutTeam)
			if team.Status.Adoptable == nil {
				return nil
			}
			return []string{ServerOf(team).String()}
		}},
		{&v1alpha1.TerdutTeam{}, DisputedByServer, disputed},
		{&v1alpha1.TerdutEscalationRule{}, DisputedByServer, disputed},
		{&v1alpha1.TerdutDeadmanSwitch{}, DisputedByServer, disputed},
		{&v1alpha1.TerdutAlertSource{}, DisputedByServer, disputed},
		{&v1alpha1.TerdutServer{}, ServersBySecret, func(o client.Object) []string {
			return SecretsOf(o.(*v1alpha1.TerdutServer))
		}},
		{&v1alpha1.TerdutEscalationRule{}, ByTeam, byTeam(func(o client.Object) string {
			return o.(*v1alpha1.TerdutEscalationRule).Spec.TeamRef.Name
		})},
		{&v1alpha1.TerdutDeadmanSwitch{}, ByTeam, byTeam(func(o client.Object) string {
			return o.(*v1alpha1.TerdutDeadmanSwitch).Spec.TeamRef.Name
		})},
		{&v1alpha1.TerdutAlertSource{}, ByTeam, byTeam(func(o client.Object) string {
			return o.(*v1alpha1.TerdutAlertSource).Spec.TeamRef.Name
		})},
	} {
		if err := indexer.IndexField(ctx, index.object, index.field, index.extract); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.object, index.field, err)
		}
	}
	return nil
}
