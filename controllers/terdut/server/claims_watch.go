package server

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// claim is what an object has to say to the owner of its server. Exported
// fields: the comparison panics on others.
type claim struct {
	// Asks is the server that it asks for a team, and Wants that team.
	Asks  types.NamespacedName
	Wants *v1alpha1.AdoptableTeam
	// Disputed is the server on which it has recorded what another has recorded.
	Disputed types.NamespacedName
	// Going is true for a team that is being deleted.
	Going bool
}

func claimOf(o client.Object) claim {
	remote := refs.RemoteOf(o)
	if remote == nil {
		return claim{}
	}
	var is claim
	is.Disputed, _ = refs.Disputed(remote)
	if team, ok := o.(*v1alpha1.TerdutTeam); ok && team.Status.Adoptable != nil {
		is.Asks, is.Wants, is.Going = refs.ServerOf(team), team.Status.Adoptable, team.DeletionTimestamp != nil
	}
	return is
}

// watchClaims wakes a server when somebody begins or ends to ask for a team, or
// to dispute an object. That is rare; most objects wake nobody.
func (r *Reconciler) watchClaims(b *builder.Builder) *builder.Builder {
	says := predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return claimOf(e.Object) != claim{} },
		DeleteFunc:  func(e event.DeleteEvent) bool { return claimOf(e.Object) != claim{} },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !equality.Semantic.DeepEqual(claimOf(e.ObjectOld), claimOf(e.ObjectNew))
		},
	}
	for _, kind := range []client.Object{
		&v1alpha1.TerdutTeam{}, &v1alpha1.TerdutEscalationRule{}, &v1alpha1.TerdutDeadmanSwitch{}, &v1alpha1.TerdutAlertSource{},
	} {
		b = b.Watches(kind, handler.EnqueueRequestsFromMapFunc(serversOfClaim), builder.WithPredicates(says))
	}
	return b
}

// serversOfClaim is asked of an object before and after a change, so that the
// end of a claim wakes as well.
func serversOfClaim(_ context.Context, o client.Object) []reconcile.Request {
	is, none := claimOf(o), types.NamespacedName{}
	var requests []reconcile.Request
	for _, server := range []types.NamespacedName{is.Asks, is.Disputed} {
		if server != none {
			requests = append(requests, reconcile.Request{NamespacedName: server})
		}
	}
	return requests
}

// withClaimsOf are conditions with those about claims as they were before.
func withClaimsOf(now, before []metav1.Condition) []metav1.Condition {
	var out []metav1.Condition
	for _, list := range []struct {
		conditions []metav1.Condition
		claims     bool
	}{{now, false}, {before, true}} {
		for _, c := range list.conditions {
			if isClaim(c.Type) == list.claims {
				out = append(out, c)
			}
		}
	}
	return out
}

func isClaim(conditionType string) bool {
	for _, of := range claimTypes {
		if of == conditionType {
			return true
		}
	}
	return false
}
