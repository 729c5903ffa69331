package attach

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// Recorded opens the place where something was recorded, whatever references
// and consent say today. With a server that is gone, or going and not to be
// reached any more, nobody can clean up, and with one whose owner says so nobody
// is to: remote.Release.
func (r *Resolver) Recorded(
	ctx context.Context, namespace string, record *v1alpha1.RemoteIdentity, teamID int64,
) (remote.Place, Access, error) {
	key := types.NamespacedName{Namespace: record.ServerNamespace, Name: record.ServerName}
	server, err := r.standing(ctx, key)
	if err != nil {
		return remote.Place{}, Access{}, err
	}
	if server.UID != record.ServerUID {
		return remote.Place{}, Access{}, &remote.Release{
			Reason: v1alpha1.ReasonServerGone, Server: key, Message: fmt.Sprintf("TerdutServer %s is another one now", key),
		}
	}
	return r.open(ctx, server, namespace, teamID)
}

// Begun opens the place where a team has begun to create something and not
// recorded it yet: nothing but the immutable reference says where.
func (r *Resolver) Begun(ctx context.Context, team *v1alpha1.TerdutTeam, teamID int64) (remote.Place, Access, error) {
	server, err := r.standing(ctx, refs.ServerOf(team))
	if err != nil {
		return remote.Place{}, Access{}, err
	}
	return r.open(ctx, server, team.Namespace, teamID)
}

// RecordedChild is Recorded for something that belongs to a team; with no
// record it is where the object has begun to create something.
func (r *Resolver) RecordedChild(
	ctx context.Context, namespace, teamName string, record *v1alpha1.RemoteIdentity,
) (remote.Place, Access, error) {
	if record == nil {
		return r.begunChild(ctx, namespace, teamName)
	}
	return r.Recorded(ctx, namespace, record, record.TeamID)
}

// begunChild is Begun for something that belongs to a team. Without the
// TerdutTeam nobody knows where to look; a team that went with it has taken
// everything on it along.
func (r *Resolver) begunChild(ctx context.Context, namespace, teamName string) (remote.Place, Access, error) {
	team := &v1alpha1.TerdutTeam{}
	switch err := r.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: teamName}, team); {
	case apierrors.IsNotFound(err):
		return remote.Place{}, Access{}, &remote.Release{
			Reason: v1alpha1.ReasonTeamGone, Message: fmt.Sprintf("TerdutTeam %q is gone, on which something was begun", teamName),
		}
	case err != nil:
		return remote.Place{}, Access{}, fmt.Errorf("read TerdutTeam %s/%s: %w", namespace, teamName, err)
	}
	return r.Begun(ctx, team, heldTeam(team))
}

// standing is a server that can still be asked to clean up.
func (r *Resolver) standing(ctx context.Context, key types.NamespacedName) (*v1alpha1.TerdutServer, error) {
	if !r.Scope.Sees(key.Namespace) {
		// Not to be seen is not to be gone.
		return nil, outcome.Unknown(v1alpha1.ConditionSynced, v1alpha1.ReasonNamespaceNotWatched,
			"the operator does not watch namespace %q, where TerdutServer %q is or was: have it watched until this is cleaned up",
			key.Namespace, key.Name)
	}
	server := &v1alpha1.TerdutServer{}
	switch err := r.Live.Get(ctx, key, server); {
	case apierrors.IsNotFound(err):
		return nil, &remote.Release{
			Reason: v1alpha1.ReasonServerGone, Server: key, Message: fmt.Sprintf("TerdutServer %s is gone", key),
		}
	case err != nil:
		return nil, fmt.Errorf("read TerdutServer %s: %w", key, err)
	case v1alpha1.IsOn(server, v1alpha1.AnnotationForceOrphan):
		return nil, &remote.Release{
			Reason: v1alpha1.ReasonForceOrphan, Server: key,
			Message: fmt.Sprintf("the annotation %s of TerdutServer %s asks for it: what is on the server stays", v1alpha1.AnnotationForceOrphan, key),
		}
	case server.DeletionTimestamp.IsZero():
		return server, nil
	}
	going, err := r.goingDown(ctx, server)
	if err != nil {
		return nil, err
	}
	if going {
		return nil, &remote.Release{
			Reason: v1alpha1.ReasonServerTerminating, Server: key, Message: fmt.Sprintf("TerdutServer %s goes down for good", key),
		}
	}
	return server, nil
}

// goingDown tells whether a terminating server has lost its Deployment or is
// about to, because its namespace goes. An external one has no Deployment, and
// goes on whatever becomes of its TerdutServer.
func (r *Resolver) goingDown(ctx context.Context, server *v1alpha1.TerdutServer) (bool, error) {
	going, err := r.Terminating(ctx, server.Namespace)
	if going || err != nil || server.Spec.External != nil {
		return going, err
	}
	key := client.ObjectKeyFromObject(server)
	err = r.Live.Get(ctx, key, &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read Deployment %s: %w", key, err)
	}
	return apierrors.IsNotFound(err), nil
}

// Terminating tells whether a namespace is going or gone.
func (r *Resolver) Terminating(ctx context.Context, name string) (bool, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := r.Live.Get(ctx, types.NamespacedName{Name: name}, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read Namespace %q: %w", name, err)
	}
	return !namespace.DeletionTimestamp.IsZero(), nil
}

// ServerObject is the TerdutServer of that name, for Events about what is left
// on its server; nil where it is gone, or where none can be created.
func (r *Resolver) ServerObject(ctx context.Context, key types.NamespacedName) (runtime.Object, error) {
	if !r.Scope.Sees(key.Namespace) {
		return nil, nil
	}
	server := &v1alpha1.TerdutServer{}
	switch err := r.Live.Get(ctx, key, server); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read TerdutServer %s: %w", key, err)
	}
	if going, err := r.Terminating(ctx, key.Namespace); going || err != nil {
		return nil, err
	}
	return server, nil
}
