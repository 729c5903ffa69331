package escalation

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutescalationrules,verbs=list;watch;patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutescalationrules/status,verbs=patch

// Setup adds the controller of TerdutEscalationRules to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, d attach.Deps) error {
	loop := &remote.Loop[*v1alpha1.TerdutEscalationRule, attach.Access, policy]{
		Kind:    &kind{Deps: d},
		Noun:    "escalation policy",
		Naming:  remote.Singleton,
		New:     func() *v1alpha1.TerdutEscalationRule { return &v1alpha1.TerdutEscalationRule{} },
		NewList: newList,
		ClaimKey: func(r *v1alpha1.TerdutEscalationRule) string {
			return r.Namespace + "/" + r.Spec.TeamRef.Name
		},
		// Whoever holds the team may write its policy.
		MayAdopt: func(*v1alpha1.TerdutEscalationRule, attach.Access) remote.Adoption {
			return remote.Adoption{Allowed: true}
		},
		Orphans: func(r *v1alpha1.TerdutEscalationRule) bool { return r.Spec.DeletionPolicy == v1alpha1.DeletionOrphan },
	}
	return attach.Run(ctx, mgr, d, loop, attach.OfTeams(d, newList))
}

func newList() client.ObjectList { return &v1alpha1.TerdutEscalationRuleList{} }
