package server

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutescalationrules;terdutdeadmanswitches;terdutalertsources,verbs=list;watch

// leavingPause is the time between two looks at what is still being deleted on
// a server that has nothing else to wait for. The looks cost a
// request only for what is not being deleted itself: whether its namespace is.
const leavingPause = 2 * time.Second

// leaving is what a server without teams still waits for, or nil: what belonged
// to a team may go after it, and is then cleaned up with the server's key. It
// would be left behind on an external server, or where the team stays there.
func (r *Reconciler) leaving(ctx context.Context, server *v1alpha1.TerdutServer) (error, error) {
	var names []string
	for _, of := range onServers() {
		if of.kind == "TerdutTeam" {
			continue // there is none left
		}
		if err := r.Client.List(ctx, of.list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list what is being deleted on TerdutServer %s: %w", client.ObjectKeyFromObject(server), err)
		}
		for _, o := range objects(of.list) {
			if !needs(server, o) {
				continue
			}
			leaves, err := r.leaves(ctx, o)
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

// needs tells whether an object has something on a server that its own
// controller would have to clean up.
func needs(server *v1alpha1.TerdutServer, o client.Object) bool {
	record := refs.RemoteOf(o).Remote
	return record != nil && record.ServerUID == server.UID && record.OwnerUID == o.GetUID() &&
		controllerutil.ContainsFinalizer(o, v1alpha1.Finalizer)
}

// leaves tells whether an object is being deleted, or is about to be with its
// namespace, which deletes one kind after the other.
func (r *Reconciler) leaves(ctx context.Context, o client.Object) (bool, error) {
	if o.GetDeletionTimestamp() != nil {
		return true, nil
	}
	return r.terminating(ctx, o.GetNamespace())
}
