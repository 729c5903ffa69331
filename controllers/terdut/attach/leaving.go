package attach

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
)

// serverEnds passes the changes of a TerdutServer that may let go what is being
// deleted on it: its own deletion, its end, and the word of its owner.
func serverEnds() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return v1alpha1.IsOn(e.ObjectOld, v1alpha1.AnnotationForceOrphan) != v1alpha1.IsOn(e.ObjectNew, v1alpha1.AnnotationForceOrphan) ||
				e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
	}
}

// toLeaving maps a TerdutServer to the objects of one kind that are being
// deleted and have recorded something on it, or have begun to and not recorded
// where. It follows the record: the team may be gone already.
func toLeaving[T client.Object, D any](c client.Reader, loop *remote.Loop[T, Access, D]) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, server client.Object) []reconcile.Request {
		list := loop.NewList()
		if err := c.List(ctx, list); err != nil {
			logf.FromContext(ctx).Error(err, "find what is being deleted on a server")
			return nil
		}
		var out []reconcile.Request
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			obj, ok := o.(T)
			if !ok || obj.GetDeletionTimestamp().IsZero() {
				return nil
			}
			if r := loop.Kind.Load(obj).Record; r == nil || r.Server == client.ObjectKeyFromObject(server) {
				out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
			}
			return nil
		})
		return out
	})
}
