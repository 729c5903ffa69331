package remote

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// pause says that nothing is done, and does nothing. The change of the
// annotation wakes the object; nothing else needs to.
func (v *visit[T, A, D]) pause(ctx context.Context) (reconcile.Result, error) {
	v.Schedule.Forget(client.ObjectKeyFromObject(v.obj))
	s := v.Kind.Load(v.obj)
	old, generation := s.Conditions, v.obj.GetGeneration()
	message := fmt.Sprintf("paused by the annotation %s: the operator changes nothing until it is removed. The %s on the server, if there is one, still runs",
		v.Annotations.Paused, v.Noun)
	s.Conditions = status.Paused(old, generation, s.ObservedGeneration == generation, message, metav1.NewTime(v.Now()))
	if err := v.save(ctx, s); err != nil {
		if isLookAgain(err) {
			return v.Schedule.LookAgain(), nil
		}
		return reconcile.Result{}, err
	}
	v.emit(status.Transitions(old, s.Conditions)...)
	return reconcile.Result{}, nil
}

// asked is the token that somebody asks for a new look with.
func (v *visit[T, A, D]) asked() string {
	return status.Token(v.obj.GetAnnotations()[v.Annotations.Reconcile])
}

// acknowledge notes that a pass has looked at everything anew, well or not. One
// that could not see has not looked, and is tried again.
func (v *visit[T, A, D]) acknowledge(s *State[D], e *outcome.Ending) {
	if e == nil || v.stands || e.Status == metav1.ConditionFalse {
		s.Reconciled = v.asked()
	}
}
