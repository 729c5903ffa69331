// Package refs knows who refers to whom among the custom resources, and
// indexes it in the manager's cache, so that a change of one object wakes
// exactly those that use it.
package refs

import (
	"context"
	"fmt"

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
