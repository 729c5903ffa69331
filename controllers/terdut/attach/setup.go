package attach

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/fair"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
)

// Watches adds to a controller what a kind watches besides itself.
type Watches func(*builder.Builder) *builder.Builder

// Run gives a loop what every kind that lives on a server shares, and adds its
// controller to the manager.
func Run[T client.Object, D any](ctx context.Context, mgr ctrl.Manager, d Deps, loop *remote.Loop[T, Access, D], watches ...Watches) error {
	loop.Client, loop.Live, loop.Recorder, loop.Schedule = d.Client, d.Live, d.Recorder, d.Schedule
	loop.Finalizer, loop.Now = v1alpha1.Finalizer, time.Now
	if d.Now != nil {
		loop.Now = d.Now
	}
	loop.Annotations = remote.Annotations{
		ForceOrphan: v1alpha1.AnnotationForceOrphan, Paused: v1alpha1.AnnotationPaused, Reconcile: v1alpha1.AnnotationReconcile,
	}
	loop.Terminating, loop.ServerObject = d.Resolver.Terminating, d.Resolver.ServerObject
	gvk, err := apiutil.GVKForObject(loop.New(), mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("name the kind of %T: %w", loop.New(), err)
	}
	loop.Resource = gvk.Kind
	if err := loop.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		WithOptions(controller.Options{NewQueue: fair.NewQueue}).
		For(loop.New(), builder.WithPredicates(Spec())).
		Watches(loop.New(), loop.Rivals(d.Client)).
		Watches(&v1alpha1.TerdutServer{}, toLeaving(d.Client, loop), builder.WithPredicates(serverEnds()))
	for _, add := range watches {
		b = add(b)
	}
	if err := b.Complete(loop); err != nil {
		return fmt.Errorf("set up the controller of %T: %w", loop.New(), err)
	}
	return nil
}

// OfTeams are the watches of what belongs to a team: the team, and the return
// of its server.
func OfTeams(d Deps, newList func() client.ObjectList) Watches {
	return func(b *builder.Builder) *builder.Builder {
		return b.
			WatchesRawSource(source.Channel(d.Resolver.Sessions.Wakes(), WakeChildren(d.Client, newList))).
			Watches(&v1alpha1.TerdutTeam{}, ToChildren(d.Client, newList), builder.WithPredicates(TeamUse()))
	}
}
