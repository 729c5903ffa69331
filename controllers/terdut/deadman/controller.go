package deadman

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/fair"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutdeadmanswitches,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutdeadmanswitches/status,verbs=patch

// Setup adds the controller of TerdutDeadmanSwitches to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, d attach.Deps) error {
	loop := &remote.Loop[*v1alpha1.TerdutDeadmanSwitch, attach.Access, body]{
		Kind:    &kind{Deps: d},
		Noun:    "dead man's switch",
		Naming:  remote.Final,
		New:     func() *v1alpha1.TerdutDeadmanSwitch { return &v1alpha1.TerdutDeadmanSwitch{} },
		NewList: newList,
		ClaimKey: func(s *v1alpha1.TerdutDeadmanSwitch) string {
			return s.Namespace + "/" + s.Spec.TeamRef.Name + "/" + s.Spec.Name
		},
		// Whoever holds the team may hold what is on it.
		MayAdopt: func(*v1alpha1.TerdutDeadmanSwitch, remote.Place) bool { return true },

		Client: d.Client, Live: d.Live, Recorder: d.Recorder, Schedule: d.Schedule,
		Finalizer: v1alpha1.Finalizer, Now: time.Now,
	}
	if err := loop.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	err := ctrl.NewControllerManagedBy(mgr).
		WithOptions(controller.Options{NewQueue: fair.NewQueue}).
		For(&v1alpha1.TerdutDeadmanSwitch{}, builder.WithPredicates(attach.Spec())).
		WatchesRawSource(source.Channel(d.Resolver.Sessions.Wakes(), attach.WakeChildren(d.Client, newList))).
		Watches(&v1alpha1.TerdutDeadmanSwitch{}, loop.Rivals(d.Client)).
		Watches(&v1alpha1.TerdutTeam{}, attach.ToChildren(d.Client, newList), builder.WithPredicates(attach.TeamUse())).
		Complete(loop)
	if err != nil {
		return fmt.Errorf("set up the controller of TerdutDeadmanSwitches: %w", err)
	}
	return nil
}

func newList() client.ObjectList { return &v1alpha1.TerdutDeadmanSwitchList{} }
