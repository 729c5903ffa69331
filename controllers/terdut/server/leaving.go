package server

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutescalationrules;terdutdeadmanswitches;terdutalertsources,verbs=list;watch

// leavingPause is the time between two looks at what is still being deleted on
// a server that has nothing else to wait for. What is let go wakes the server;
// the look is for what no watch has told of.
const leavingPause = time.Minute

// leaving is what a server without teams still waits for, or nil: what belonged
// to a team may go after it, and is then cleaned up with the server's key. It
// would be left behind on an external server, or where the team stays there.
func (r *Reconciler) leaving(ctx context.Context, from client.Reader, server *v1alpha1.TerdutServer) (error, error) {
	var names []string
	going := map[string]bool{} // by namespace, each of which is asked for once
	for _, of := range onServers() {
		if of.kind == "TerdutTeam" {
			continue // there is none left
		}
		if err := from.List(ctx, of.list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list what is being deleted on TerdutServer %s: %w", client.ObjectKeyFromObject(server), err)
		}
		for _, o := range objects(of.list) {
			if cleansOn(o) != server.UID {
				continue
			}
			leaves, err := r.leaves(ctx, o, going)
			if err != nil {
				return nil, err
			}
			if leaves {
				names = append(names, fmt.Sprintf("%s %s", of.kind, client.ObjectKeyFromObject(o)))
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	waits := outcome.Waiting(v1alpha1.ConditionDegraded, v1alpha1.ReasonDeletionBlocked,
		"waits for %d objects that are being deleted (%s)", len(names), firstTen(names))
	waits.After = leavingPause
	return waits, nil
}

// cleansOn is the server on which an object has something that its own
// controller would have to clean up; empty where there is nothing.
func cleansOn(o client.Object) types.UID {
	remote := refs.RemoteOf(o)
	if remote == nil || remote.Remote == nil || remote.Remote.OwnerUID != o.GetUID() || !controllerutil.ContainsFinalizer(o, v1alpha1.Finalizer) {
		return ""
	}
	return remote.Remote.ServerUID
}

// leaves tells whether an object is being deleted, or is about to be with its
// namespace, which deletes one kind after the other.
func (r *Reconciler) leaves(ctx context.Context, o client.Object, going map[string]bool) (bool, error) {
	if o.GetDeletionTimestamp() != nil {
		return true, nil
	}
	namespace := o.GetNamespace()
	if is, known := going[namespace]; known {
		return is, nil
	}
	is, err := r.terminating(ctx, namespace)
	if err == nil {
		going[namespace] = is
	}
	return is, err
}

// watchLeaving wakes a server that is being deleted when something on it is let
// go that is no team.
func (r *Reconciler) watchLeaving(b *builder.Builder) *builder.Builder {
	letGo := predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc:  func(e event.UpdateEvent) bool { return cleansOn(e.ObjectOld) != cleansOn(e.ObjectNew) },
	}
	for _, kind := range []client.Object{
		&v1alpha1.TerdutEscalationRule{}, &v1alpha1.TerdutDeadmanSwitch{}, &v1alpha1.TerdutAlertSource{},
	} {
		b = b.Watches(kind, coalesced(r.deletedServerOf, gathered), builder.WithPredicates(letGo))
	}
	return b
}

// deletedServerOf finds the server that an object has recorded, if that is being
// deleted: no other one counts what belongs to teams.
func (r *Reconciler) deletedServerOf(ctx context.Context, o client.Object) []reconcile.Request {
	remote := refs.RemoteOf(o)
	if remote == nil || remote.Remote == nil {
		return nil
	}
	key := types.NamespacedName{Namespace: remote.Remote.ServerNamespace, Name: remote.Remote.ServerName}
	server := &v1alpha1.TerdutServer{}
	if err := r.Client.Get(ctx, key, server); err != nil || server.DeletionTimestamp == nil {
		return nil // one that is not in the cache waits for nothing
	}
	return []reconcile.Request{{NamespacedName: key}}
}
