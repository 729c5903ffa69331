// Package attach is how what lives on a TerdutServer gets there: it follows
// references, asks for consent, and opens the session, in this order and in
// one place. No Secret is read and no call made before consent is given.
package attach

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/consent"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/scope"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutservers;terdutteams,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Access is a place on a server and the session with it.
type Access struct {
	API    *connect.Turn
	Server *v1alpha1.TerdutServer
	// TeamID is the team that the place belongs to; 0 for the server itself.
	TeamID int64
}

// Resolver follows references. Its fields are set once.
type Resolver struct {
	// Client reads from the cache.
	Client client.Reader
	// Live reads past it: only a live read proves that something is gone.
	Live     client.Reader
	Sessions *connect.Sessions
	// Scope is what the operator looks at. A server outside of it is, to a team
	// that refers to it, one that does not exist.
	Scope scope.Scope
}

// Team resolves the reference of a team to its server.
func (r *Resolver) Team(ctx context.Context, team *v1alpha1.TerdutTeam) (remote.Place, Access, error) {
	server, err := r.permittedServer(ctx, team)
	if err != nil {
		return remote.Place{}, Access{}, err
	}
	return r.open(ctx, server, team.Namespace, 0)
}

// Child resolves the reference of something that belongs to a team.
func (r *Resolver) Child(ctx context.Context, namespace, teamName string) (remote.Place, Access, error) {
	team := &v1alpha1.TerdutTeam{}
	switch err := r.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: teamName}, team); {
	case apierrors.IsNotFound(err):
		return remote.Place{}, Access{}, waitingForTeam("TerdutTeam %q does not exist in this namespace", teamName)
	case err != nil:
		return remote.Place{}, Access{}, fmt.Errorf("read TerdutTeam %s/%s: %w", namespace, teamName, err)
	case !team.DeletionTimestamp.IsZero():
		return remote.Place{}, Access{}, waitingForTeam("TerdutTeam %q is being deleted", teamName)
	}
	server, err := r.permittedServer(ctx, team)
	if err != nil {
		return remote.Place{}, Access{}, err
	}
	id := heldTeam(team)
	if id == 0 {
		return remote.Place{}, Access{}, waitingForTeam("TerdutTeam %q has no team on the server yet", teamName)
	}
	place, at, err := r.open(ctx, server, namespace, id)
	if err != nil {
		return remote.Place{}, Access{}, err
	}
	return place, at, at.sameTeam(ctx, team.Status.Remote.CreatedAt)
}

// heldTeam is the server-side ID of a team, if the team really holds it.
func heldTeam(team *v1alpha1.TerdutTeam) int64 {
	record := team.Status.Remote
	if record == nil || record.OwnerUID != team.UID {
		return 0
	}
	return record.ID
}

func waitingForTeam(format string, args ...any) error {
	return outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonWaitingForTeam, format, args...)
}

// permittedServer is the server of a team, if it exists and consents.
func (r *Resolver) permittedServer(ctx context.Context, team *v1alpha1.TerdutTeam) (*v1alpha1.TerdutServer, error) {
	key := refs.ServerOf(team)
	server, err := r.cachedServer(ctx, key)
	if err != nil {
		return nil, err
	}
	missing := server == nil
	if key.Namespace != team.Namespace {
		permitted := false
		if !missing {
			if permitted, err = r.consents(ctx, team.Namespace, server); err != nil {
				return nil, err
			}
		}
		if !permitted {
			// One text for both: a tenant cannot find out what exists elsewhere.
			return nil, outcome.Refused(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonRefNotPermitted,
				"TerdutServer %s does not exist or does not admit namespace %q: ask its owner for spec.allowedTeams", key, team.Namespace)
		}
	}
	switch {
	case missing:
		return nil, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonWaitingForServer,
			"TerdutServer %q does not exist in this namespace", key.Name)
	case !server.DeletionTimestamp.IsZero():
		return nil, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonWaitingForServer,
			"TerdutServer %s is being deleted", key)
	}
	return server, nil
}

// cachedServer is a server as the cache has it; nil where it has none, or does
// not look.
func (r *Resolver) cachedServer(ctx context.Context, key types.NamespacedName) (*v1alpha1.TerdutServer, error) {
	if !r.Scope.Sees(key.Namespace) {
		return nil, nil
	}
	server := &v1alpha1.TerdutServer{}
	switch err := r.Client.Get(ctx, key, server); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read TerdutServer %s: %w", key, err)
	}
	return server, nil
}

// consents reads the labels of the namespace only where the consent asks for
// them.
func (r *Resolver) consents(ctx context.Context, namespace string, server *v1alpha1.TerdutServer) (bool, error) {
	var labels map[string]string
	if consent.NeedsLabels(namespace, server) {
		ns, err := r.Scope.Namespace(ctx, r.Client, r.Live, namespace)
		if err != nil {
			return false, fmt.Errorf("read labels of Namespace %q: %w", namespace, err)
		}
		labels = ns.Labels
	}
	return consent.Evaluate(namespace, server, labels), nil
}

// open opens the session with a server, on behalf of a namespace.
func (r *Resolver) open(
	ctx context.Context, server *v1alpha1.TerdutServer, namespace string, teamID int64,
) (remote.Place, Access, error) {
	api, err := r.Sessions.For(ctx, server, namespace)
	if err != nil {
		return remote.Place{}, Access{}, err
	}
	place := remote.Place{Server: client.ObjectKeyFromObject(server), ServerUID: server.UID, TeamID: teamID}
	return place, Access{API: api, Server: server, TeamID: teamID}, nil
}
