package deadman

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutdeadmanswitches,verbs=list;watch;patch
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
		MayAdopt: func(*v1alpha1.TerdutDeadmanSwitch, attach.Access) remote.Adoption {
			return remote.Adoption{Allowed: true}
		},
		Orphans: func(s *v1alpha1.TerdutDeadmanSwitch) bool { return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan },
	}
	return attach.Run(ctx, mgr, d, loop, attach.OfTeams(d, newList))
}

func newList() client.ObjectList { return &v1alpha1.TerdutDeadmanSwitchList{} }
