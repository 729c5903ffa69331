package team

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutteams,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutteams/status,verbs=patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutteams/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete

// Setup adds the controller of TerdutTeams to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, d attach.Deps) error {
	teams := &kind{resolver: d.Resolver}
	keys := &keeper{Deps: d, kind: teams}
	loop := &remote.Loop[*v1alpha1.TerdutTeam, attach.Access, body]{
		Kind:     teams,
		Noun:     "team",
		Naming:   remote.Provisional,
		New:      func() *v1alpha1.TerdutTeam { return &v1alpha1.TerdutTeam{} },
		NewList:  newList,
		ClaimKey: func(t *v1alpha1.TerdutTeam) string { return refs.ServerOf(t).String() + "/" + t.Spec.DisplayName },
		MayAdopt: mayAdopt,
		Orphans:  func(t *v1alpha1.TerdutTeam) bool { return t.Spec.DeletionPolicy == v1alpha1.DeletionOrphan },

		Beside: keys.Beside, Leave: keys.Leave,
		Accompanied: func(t *v1alpha1.TerdutTeam) bool { return t.Status.Credentials != nil },
	}
	return attach.Run(ctx, mgr, d, loop, func(b *builder.Builder) *builder.Builder {
		return d.WatchNamespaces(b, newList).
			WatchesRawSource(source.Channel(d.Resolver.Sessions.Wakes(), attach.WakeTeams(d.Client))).
			Owns(&corev1.Secret{}).
			Watches(&v1alpha1.TerdutServer{}, attach.ToTeams(d.Client), builder.WithPredicates(attach.ServerUse()))
	})
}

func newList() client.ObjectList { return &v1alpha1.TerdutTeamList{} }
