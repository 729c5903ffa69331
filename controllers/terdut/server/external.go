package server

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
)

// external sees to a server that is installed elsewhere: nothing is rendered
// for it, and what was before it became external is deleted. It is asked for
// its health, and then for its opinion of the operator's key.
func (r *Reconciler) external(ctx context.Context, server *v1alpha1.TerdutServer, seen *Seen) error {
	before := records(server.Status.Children)
	done, err := r.Engine.Converge(ctx, server, before, nil, prunableFor(&server.Spec), r.remember(server))
	r.tell(server, done.Changes)
	seen.Records = done.Records
	if err != nil {
		return err
	}
	seen.Converged = true
	if err = r.dropHMACKey(ctx, server); err != nil {
		return err
	}
	if err = r.reach(ctx, server); err != nil {
		return err
	}
	seen.Reached = true
	seen.Identity, err = r.identify(ctx, server, true)
	if err != nil {
		seen.Reached = !isAbout(err, v1alpha1.ConditionAvailable)
		r.memory.of(server, func(e *remembered) { e.healthy = time.Time{} })
	}
	return err
}

func isAbout(err error, condition string) bool {
	ending, ended := outcome.As(err)
	return ended && ending.Condition == condition
}

// reach asks an external server for its health, once in a resync and anew when
// the spec has changed.
func (r *Reconciler) reach(ctx context.Context, server *v1alpha1.TerdutServer) error {
	last := time.Time{}
	r.memory.of(server, func(e *remembered) { last = e.healthy })
	if server.Status.ObservedGeneration == server.Generation && r.Now().Sub(last) < r.recheck() && !asksAnew(server) {
		return nil
	}
	api, err := r.Clients.Client(ctx, server, "")
	if err == nil {
		err = api.Health(ctx)
	}
	if err != nil {
		r.memory.of(server, func(e *remembered) { e.healthy = time.Time{} })
		err = connect.Explain(err, v1alpha1.ConditionAvailable, "ask the server for its health")
		if ending, ended := outcome.As(err); ended {
			return ending.On(v1alpha1.ConditionAvailable)
		}
		return err
	}
	r.memory.of(server, func(e *remembered) { e.healthy = r.Now() })
	return nil
}

// reached is the condition Available of an external server.
func reached(server *v1alpha1.TerdutServer, seen Seen) status.Part {
	if seen.Reached {
		return status.True(v1alpha1.ConditionAvailable, v1alpha1.ReasonAvailable, "the server answers")
	}
	return carried(server, status.Part{
		Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing,
		Message: "the server was not asked yet",
	})
}

// trustAnew ends the session of an external server whose certificate authority
// has changed: the next one is opened with the new one.
func (r *Reconciler) trustAnew(server *v1alpha1.TerdutServer, secret string) {
	external := server.Spec.External
	if external == nil || external.CASecretRef == nil || external.CASecretRef.Name != secret {
		return
	}
	r.Clients.Close(server.UID)
	r.memory.of(server, func(e *remembered) { e.healthy = time.Time{} })
	r.memory.doubt(server)
}
