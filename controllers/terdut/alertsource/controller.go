package alertsource

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutalertsources,verbs=list;watch;patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutalertsources/status,verbs=patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutalertsources/finalizers,verbs=update

// defaultGrace is how long a replaced integration keeps working, so that
// whatever sends to the old URL has time to read the Secret again.
const defaultGrace = time.Hour

// Setup adds the controller of TerdutAlertSources to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, d attach.Deps) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	sources := &kind{Deps: d}
	loop := &remote.Loop[*v1alpha1.TerdutAlertSource, attach.Access, body]{
		Kind:    sources,
		Noun:    "integration",
		Naming:  remote.Provisional,
		Grace:   graceOf,
		Rotate:  func(s *v1alpha1.TerdutAlertSource) string { return v1alpha1.RotateToken(s) },
		New:     func() *v1alpha1.TerdutAlertSource { return &v1alpha1.TerdutAlertSource{} },
		NewList: newList,
		ClaimKey: func(s *v1alpha1.TerdutAlertSource) string {
			return s.Namespace + "/" + s.Spec.TeamRef.Name + "/" + s.Spec.Name
		},
		// Whoever holds the team may hold what is on it, if the key is known.
		MayAdopt: func(*v1alpha1.TerdutAlertSource, attach.Access) remote.Adoption {
			return remote.Adoption{Allowed: true}
		},
		Orphans: func(s *v1alpha1.TerdutAlertSource) bool { return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan },
		Part:    sources.disown,
		Beside:  sources.place,
	}
	return attach.Run(ctx, mgr, d, loop, attach.OfTeams(d, newList), sources.watchSecrets, sources.watchServers)
}

// graceOf is how long a replaced integration of a source keeps working.
func graceOf(s *v1alpha1.TerdutAlertSource) time.Duration {
	if s.Spec.RotationGrace == nil {
		return defaultGrace
	}
	grace, err := time.ParseDuration(string(*s.Spec.RotationGrace))
	if err != nil { // the schema does not let it in
		return defaultGrace
	}
	return grace
}

func newList() client.ObjectList { return &v1alpha1.TerdutAlertSourceList{} }
