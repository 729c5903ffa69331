package server

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutescalationrules;terdutdeadmanswitches;terdutalertsources,verbs=list;watch

// leavingPause is the time between two looks at what is still being deleted on
// a server that has nothing else to wait for. The looks cost no request.
const leavingPause = 2 * time.Second

// leaving is what a server without teams still waits for, or nil: what belonged
// to a team may go after it, and is then cleaned up with the server's key. It
// would be left behind on an external server, or where the team stays there.
func (r *Reconciler) leaving(ctx context.Context, server *v1alpha1.TerdutServer) (error, error) {
	rules, switches, sources := &v1alpha1.TerdutEscalationRuleList{}, &v1alpha1.TerdutDeadmanSwitchList{}, &v1alpha1.TerdutAlertSourceList{}
	for _, list := range []client.ObjectList{rules, switches, sources} {
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list what is being deleted on TerdutServer %s: %w", client.ObjectKeyFromObject(server), err)
		}
	}
	var names []string
	add := func(kind string, o client.Object, s *v1alpha1.RemoteStatus) {
		if leaves(server, o, s.Remote) {
			names = append(names, kind+" "+client.ObjectKeyFromObject(o).String())
		}
	}
	for i := range rules.Items {
		add("TerdutEscalationRule", &rules.Items[i], &rules.Items[i].Status.RemoteStatus)
	}
	for i := range switches.Items {
		add("TerdutDeadmanSwitch", &switches.Items[i], &switches.Items[i].Status.RemoteStatus)
	}
	for i := range sources.Items {
		add("TerdutAlertSource", &sources.Items[i], &sources.Items[i].Status.RemoteStatus)
	}
	if len(names) == 0 {
		return nil, nil
	}
	waits := outcome.Waiting(v1alpha1.ConditionDegraded, v1alpha1.ReasonDeletionBlocked,
		"waits for %d objects that are being deleted (%s)", len(names), firstTen(names))
	waits.After = leavingPause
	return waits, nil
}

// leaves tells whether an object is being deleted and has something on a server
// that its own controller has not cleaned up yet.
func leaves(server *v1alpha1.TerdutServer, o client.Object, record *v1alpha1.RemoteIdentity) bool {
	return o.GetDeletionTimestamp() != nil && controllerutil.ContainsFinalizer(o, v1alpha1.Finalizer) &&
		record != nil && record.ServerUID == server.UID && record.OwnerUID == o.GetUID()
}
