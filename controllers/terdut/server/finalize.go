package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// finalize lets a server go once no team needs it. Nothing is made again while
// it waits, and nothing is deleted: the garbage collector takes the children
// along, so that until then they serve the teams' own clean-up.
func (r *Reconciler) finalize(ctx context.Context, server *v1alpha1.TerdutServer) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(server)
	if !controllerutil.ContainsFinalizer(server, v1alpha1.Finalizer) {
		r.forget(key)
		return ctrl.Result{}, nil
	}
	teams, blocked, err := r.keepers(ctx, server)
	if err != nil {
		return ctrl.Result{}, err
	}
	var mirrored []string
	if blocked != nil {
		if mirrored, err = r.wantedMirrors(ctx, r.Client, server, teams); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err = r.retract(ctx, server, mirrored); err != nil {
		return ctrl.Result{}, err
	}
	if blocked == nil {
		if err = r.letGo(ctx, key, server.UID); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.setFinalizer(ctx, server, controllerutil.RemoveFinalizer)
	}
	deployment, err := r.deployment(ctx, server)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.report(ctx, server, Seen{Deployment: deployment, Teams: attached(teams), Unwatched: r.unwatched(server)}, blocked)
}

// keepers are the teams of a server, and why it has to stay, or nil. What would
// stay behind of it cannot be cleaned up without it: a cache that shows nothing
// is not believed before the API server has said the same.
func (r *Reconciler) keepers(ctx context.Context, server *v1alpha1.TerdutServer) ([]v1alpha1.TerdutTeam, error, error) {
	teams, err := r.teams(ctx, server)
	if err != nil || v1alpha1.IsOn(server, v1alpha1.AnnotationForceOrphan) {
		return teams, nil, err
	}
	blocked, err := r.blocked(ctx, r.Client, server, teams)
	if err != nil || blocked != nil {
		return teams, blocked, err
	}
	live, list := r.Scope.Live(r.Live), &v1alpha1.TerdutTeamList{}
	if err = live.List(ctx, list); err != nil {
		return nil, nil, fmt.Errorf("list the TerdutTeams before TerdutServer %s goes: %w", client.ObjectKeyFromObject(server), err)
	}
	teams = teamsOf(server, list.Items)
	blocked, err = r.blocked(ctx, live, server, teams)
	return teams, blocked, err
}

// blocked is why a server has to stay for those teams, or for what went after
// its team as a reader shows it, or nil.
func (r *Reconciler) blocked(
	ctx context.Context, from client.Reader, server *v1alpha1.TerdutServer, teams []v1alpha1.TerdutTeam,
) (error, error) {
	var live, going []string
	for i := range teams {
		switch team := &teams[i]; {
		case !holds(team) && team.Status.PendingCreate == nil:
		case team.DeletionTimestamp != nil:
			// One that has lost our finalizer is held by somebody else, and needs
			// nothing of this server any more.
			if controllerutil.ContainsFinalizer(team, v1alpha1.Finalizer) {
				going = append(going, client.ObjectKeyFromObject(team).String())
			}
		default:
			live = append(live, client.ObjectKeyFromObject(team).String())
		}
	}
	if len(live) > 0 {
		terminating, err := r.terminating(ctx, server.Namespace)
		if err != nil {
			return nil, err
		}
		if terminating {
			live = nil
		}
	}
	switch {
	case len(live) > 0:
		return outcome.Waiting(v1alpha1.ConditionDegraded, v1alpha1.ReasonTeamsAttached,
			"%d TerdutTeams live on this server and keep it: delete them first (%s)", len(live), firstTen(live)), nil
	case len(going) > 0:
		return outcome.Waiting(v1alpha1.ConditionDegraded, v1alpha1.ReasonDeletionBlocked,
			"waits for %d TerdutTeams that are being deleted (%s)", len(going), firstTen(going)), nil
	}
	return r.leaving(ctx, from, server)
}

// teams are the TerdutTeams that refer to a server.
func (r *Reconciler) teams(ctx context.Context, server *v1alpha1.TerdutServer) ([]v1alpha1.TerdutTeam, error) {
	key := client.ObjectKeyFromObject(server)
	list := &v1alpha1.TerdutTeamList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{refs.TeamsByServer: key.String()}); err != nil {
		return nil, fmt.Errorf("list the TerdutTeams of TerdutServer %s: %w", key, err)
	}
	return teamsOf(server, list.Items), nil
}

// teamsOf are those teams that refer to a server. One that is recorded on an
// earlier server of this name does not hold this one.
func teamsOf(server *v1alpha1.TerdutServer, all []v1alpha1.TerdutTeam) []v1alpha1.TerdutTeam {
	key := client.ObjectKeyFromObject(server)
	return slices.DeleteFunc(all, func(team v1alpha1.TerdutTeam) bool {
		return refs.ServerOf(&team) != key || holds(&team) && team.Status.Remote.ServerUID != server.UID
	})
}

// holds tells whether a team has a recorded object on its server.
func holds(team *v1alpha1.TerdutTeam) bool { return team.Status.Remote != nil }

func attached(teams []v1alpha1.TerdutTeam) int32 {
	count := int32(0)
	for i := range teams {
		if holds(&teams[i]) {
			count++
		}
	}
	return count
}

// terminating tells whether a namespace is going or gone.
func (r *Reconciler) terminating(ctx context.Context, name string) (bool, error) {
	namespace := &corev1.Namespace{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read Namespace %q: %w", name, err)
	}
	return namespace.DeletionTimestamp != nil, nil
}

// deployment is the server's own Deployment as the cache has it, or nil.
func (r *Reconciler) deployment(ctx context.Context, server *v1alpha1.TerdutServer) (*appsv1.Deployment, error) {
	found := &appsv1.Deployment{}
	key := client.ObjectKeyFromObject(server)
	err := r.Client.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Deployment %s: %w", key, err)
	}
	for _, ref := range found.OwnerReferences {
		if ref.UID == server.UID {
			return found, nil
		}
	}
	return nil, nil
}

// setFinalizer changes the finalizers by a merge patch that carries the
// resourceVersion: an apply could make a deleted server again.
func (r *Reconciler) setFinalizer(ctx context.Context, server *v1alpha1.TerdutServer, change func(client.Object, string) bool) error {
	before := server.DeepCopy()
	if !change(server, v1alpha1.Finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, server, patch, client.FieldOwner(apply.FieldManager))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		key := apply.KeyOf(v1alpha1.SchemeGroupVersion.WithKind("TerdutServer"), server)
		return &apply.LookAgain{Key: key, Err: err}
	case err != nil:
		return fmt.Errorf("set the finalizer of TerdutServer %s: %w", client.ObjectKeyFromObject(server), err)
	}
	return nil
}

func firstTen(names []string) string {
	slices.Sort(names)
	if len(names) > 10 {
		names = append(names[:10:10], "...")
	}
	return strings.Join(names, ", ")
}
