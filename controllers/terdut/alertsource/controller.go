package alertsource

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutalertsources,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutalertsources/status,verbs=patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutalertsources/finalizers,verbs=update

// grace is how long a replaced integration keeps working, so that whatever
// sends to the old URL has time to read the Secret again.
const grace = time.Hour

// Setup adds the controller of TerdutAlertSources to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, d attach.Deps) error {
	sources := &kind{Deps: d}
	loop := &remote.Loop[*v1alpha1.TerdutAlertSource, attach.Access, body]{
		Kind:    sources,
		Noun:    "integration",
		Naming:  remote.Provisional,
		Grace:   grace,
		New:     func() *v1alpha1.TerdutAlertSource { return &v1alpha1.TerdutAlertSource{} },
		NewList: newList,
		ClaimKey: func(s *v1alpha1.TerdutAlertSource) string {
			return s.Namespace + "/" + s.Spec.TeamRef.Name + "/" + s.Spec.Name
		},
		// Whoever holds the team may hold what is on it, if the key is known.
		MayAdopt: func(*v1alpha1.TerdutAlertSource, remote.Place) bool { return true },
		Orphans:  func(s *v1alpha1.TerdutAlertSource) bool { return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan },
		Part:     sources.disown,
	}
	secrets := func(b *builder.Builder) *builder.Builder { return b.Owns(&corev1.Secret{}) }
	return attach.Run(ctx, mgr, d, loop, attach.OfTeams(d, newList), secrets)
}

func newList() client.ObjectList { return &v1alpha1.TerdutAlertSourceList{} }
