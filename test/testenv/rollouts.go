package testenv

import (
	"context"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Rollouts plays the Deployment controller: each Deployment of the operator is
// rolled out at once, unless its rollout is held.
type Rollouts struct {
	client client.Client
	held   sync.Map
}

// Hold leaves a Deployment as it is, from now on.
func (r *Rollouts) Hold(namespace, name string) {
	r.held.Store(types.NamespacedName{Namespace: namespace, Name: name}, true)
}

func (r *Rollouts) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("rollouts").For(&appsv1.Deployment{}).Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Rollouts) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if _, held := r.held.Load(req.NamespacedName); held {
		return ctrl.Result{}, nil
	}
	d := &appsv1.Deployment{}
	if err := r.client.Get(ctx, req.NamespacedName, d); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	pods := ptr.Deref(d.Spec.Replicas, 1)
	if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == pods {
		return ctrl.Result{}, nil
	}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
	}
	return ctrl.Result{}, client.IgnoreNotFound(r.client.Status().Update(ctx, d))
}
