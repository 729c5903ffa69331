package server

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// paused tells whether nothing is to be done for a server. A key that was
// handed out and is not in its Secret yet exists nowhere else: it is written
// first.
func (r *Reconciler) paused(server *v1alpha1.TerdutServer) bool {
	return v1alpha1.IsOn(server, v1alpha1.AnnotationPaused) && r.memory.held(server) == nil
}

// pause says that nothing is done, and does nothing.
func (r *Reconciler) pause(ctx context.Context, server *v1alpha1.TerdutServer) (ctrl.Result, error) {
	r.Schedule.Forget(client.ObjectKeyFromObject(server))
	next := *server.Status.DeepCopy()
	if next.ObservedGeneration == 0 {
		next.ObservedGeneration = -1
	}
	message := fmt.Sprintf("paused by the annotation %s: the operator changes nothing until it is removed. "+
		"The server still runs, with every switch on it, and what lives on it is looked after", v1alpha1.AnnotationPaused)
	next.Conditions = status.Paused(server.Status.Conditions, server.Generation, next.ObservedGeneration == server.Generation,
		message, metav1.NewTime(r.Now()).Rfc3339Copy())
	before := server.Status.Conditions
	if err := r.write(ctx, server, next); err != nil {
		if apply.IsLookAgain(err) {
			return r.Schedule.LookAgain(), nil
		}
		return ctrl.Result{}, err
	}
	status.Emit(r.Recorder, server, status.Transitions(before, next.Conditions)...)
	return ctrl.Result{}, nil
}

// asksAnew tells whether somebody asks for a look that believes nothing.
func asksAnew(server *v1alpha1.TerdutServer) bool {
	return status.Token(server.Annotations[v1alpha1.AnnotationReconcile]) != server.Status.Reconciled
}

// reconciled is the token of which it is acknowledged that everything was
// looked at for it. A pass that could not see has not looked.
func reconciled(server *v1alpha1.TerdutServer, ending *outcome.Ending) string {
	if ending != nil && ending.Status != metav1.ConditionFalse {
		return server.Status.Reconciled
	}
	return status.Token(server.Annotations[v1alpha1.AnnotationReconcile])
}
