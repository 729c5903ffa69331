package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	terdutac "git.ryuvia.com/niklas/terdut-operator/applyconfig/terdut/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// report is the one way out of a pass: it writes the status if that says
// something new, tells the transitions, and gives the time of the next pass.
func (r *Reconciler) report(ctx context.Context, server *v1alpha1.TerdutServer, seen Seen, err error) (ctrl.Result, error) {
	err = writeEnding(err, v1alpha1.ConditionAvailable)
	if apply.IsLookAgain(err) {
		return r.Schedule.LookAgain(), nil
	}
	key := client.ObjectKeyFromObject(server)
	err = r.Schedule.Explained(key, r.Now(), err, func(err error) *outcome.Ending {
		return outcome.Waiting(v1alpha1.ConditionAvailable, v1alpha1.ReasonApplyFailed, "%s", outcome.Lasting(err))
	})
	ending, ended := outcome.As(err)
	if err != nil && !ended {
		return ctrl.Result{}, err
	}
	next := Observe(server, seen, ending, metav1.NewTime(r.Now()).Rfc3339Copy())
	result := r.Schedule.After(key, !status.Speak(server.Status.Conditions, server.Generation), ending)
	result.RequeueAfter = min(result.RequeueAfter, r.soon(seen, next))
	news := newsOf(server.Status, next)
	if wait := r.untilWritten(server, news); wait > 0 {
		result.RequeueAfter = min(result.RequeueAfter, wait)
		return result, nil
	}
	before, rotation := server.Status.Conditions, rotationEvents(server, next.Database)
	if err = r.write(ctx, server, next); err != nil {
		if apply.IsLookAgain(err) {
			return r.Schedule.LookAgain(), nil
		}
		return ctrl.Result{}, err
	}
	r.told(server, news)
	status.Emit(r.Recorder, server, append(rotation, status.Transitions(before, next.Conditions)...)...)
	status.Emit(r.Recorder, server, fieldEvents(before, next.Conditions)...)
	status.Emit(r.Recorder, server, unwatchedEvents(before, next.Conditions)...)
	status.Emit(r.Recorder, server, claimEvents(before, next.Conditions)...)
	return result, nil
}

// soon is when to look again at what nothing wakes the server for: pods, and a
// route that this very pass has made possible.
func (r *Reconciler) soon(seen Seen, next v1alpha1.TerdutServerStatus) time.Duration {
	if seen.Identity != nil && seen.Identity.Again > 0 {
		return min(seen.Identity.Again, r.soonBesides(seen, next))
	}
	return r.soonBesides(seen, next)
}

// soonBesides is soon without the operator's key.
func (r *Reconciler) soonBesides(seen Seen, next v1alpha1.TerdutServerStatus) time.Duration {
	switch {
	case seen.Route != nil && !seen.Route.Claimed && claimed(&next):
		return r.Schedule.LookAgain().RequeueAfter
	case len(seen.Pods) > 0 || seen.Deployment != nil && condition(seen.Deployment, appsv1.DeploymentReplicaFailure, corev1.ConditionTrue) != "":
		return rolloutPause
	}
	return r.Resync * 2
}

// write applies a whole status if it differs. Afterwards server has it, and
// its new resourceVersion.
func (r *Reconciler) write(ctx context.Context, server *v1alpha1.TerdutServer, next v1alpha1.TerdutServerStatus) error {
	if equality.Semantic.DeepEqual(server.Status, next) {
		return nil
	}
	content, err := status.Into[terdutac.TerdutServerStatusApplyConfiguration](next)
	if err != nil {
		return err
	}
	config := terdutac.TerdutServer(server.Name, server.Namespace).
		WithUID(server.UID).
		WithResourceVersion(server.ResourceVersion).
		WithStatus(content)
	err = status.Apply(ctx, r.Client, apply.FieldManager, config)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return &apply.LookAgain{Key: apply.KeyOf(v1alpha1.SchemeGroupVersion.WithKind("TerdutServer"), server), Err: err}
	case err != nil:
		return fmt.Errorf("write status of TerdutServer %s: %w", client.ObjectKeyFromObject(server), err)
	}
	if config.ResourceVersion != nil {
		server.ResourceVersion = *config.ResourceVersion
		r.written.Note(server, r.Now())
	}
	server.Status = next
	return nil
}

// remember records the children in the status before the first of them exists.
func (r *Reconciler) remember(server *v1alpha1.TerdutServer) func(context.Context, []apply.Record) error {
	return func(ctx context.Context, list []apply.Record) error {
		next := *server.Status.DeepCopy()
		next.Children = children(list)
		if next.ObservedGeneration == 0 {
			next.ObservedGeneration = -1
		}
		return r.write(ctx, server, next)
	}
}

// writeEnding turns a refused write into an ending on a condition. An ending
// stays what it is, and so does an error that says nothing about the object: a
// failing API server, a conflict.
func writeEnding(err error, condition string) error {
	var refused *apply.Refused
	var immutable *apply.Immutable
	var answer apierrors.APIStatus
	if _, ended := outcome.As(err); ended || err == nil || apply.IsLookAgain(err) {
		return err
	}
	switch {
	case errors.As(err, &refused):
		return outcome.Refused(condition, v1alpha1.ReasonNameConflict, "%s", refused.Error()).Because(err)
	case errors.As(err, &immutable):
		return outcome.Refused(condition, v1alpha1.ReasonApplyFailed, "%s", immutable.Error()).Because(err)
	case errors.As(err, &answer) && aboutRequest(answer.Status().Code):
		return outcome.Waiting(condition, v1alpha1.ReasonApplyFailed, "the API server refuses: %s", outcome.Steady(err.Error())).Because(err)
	}
	return err
}

// aboutRequest tells an answer to the request from one about the API server's
// own state, or about another version of the object.
func aboutRequest(code int32) bool {
	switch code {
	case 400, 403, 405, 413, 422:
		return true
	default:
		return false
	}
}

// tell makes Events of what was done to the children.
func (r *Reconciler) tell(server *v1alpha1.TerdutServer, changes []apply.Change) {
	for _, change := range changes {
		child := change.Key.Kind + " " + change.Key.Name
		switch change.Action {
		case apply.Created:
			status.Emit(r.Recorder, server, status.Event{Reason: v1alpha1.EventCreated, Message: "created " + child})
		case apply.Updated:
			status.Emit(r.Recorder, server, status.Event{Reason: v1alpha1.EventUpdated, Message: "updated " + child})
		case apply.Deleted:
			status.Emit(r.Recorder, server, status.Event{Reason: v1alpha1.EventPruned, Message: "deleted " + child + ", which is no longer wanted"})
		case apply.Reclaimed:
			status.Emit(r.Recorder, server, status.Event{Reason: v1alpha1.EventUpdated, Message: "took back fields of " + child + " that others have let go"})
		case apply.Corrected:
			status.Emit(r.Recorder, server, drift(child, change.Fields))
		}
	}
}

// maxFields is how many drifted fields an Event names.
const maxFields = 8

// drift is the Event about fields of ours that somebody else had changed.
func drift(child string, fields []apply.FieldDrift) status.Event {
	var parts []string
	for i, field := range fields {
		if i == maxFields {
			parts = append(parts, fmt.Sprintf("and %d more", len(fields)-i))
			break
		}
		parts = append(parts, who(field))
	}
	return status.Event{
		Warning: true,
		Reason:  v1alpha1.EventDriftCorrected,
		Message: child + ": " + strings.Join(parts, "; ") + "; restored",
	}
}

func who(field apply.FieldDrift) string {
	switch {
	case field.Path == apply.PathDeleted:
		return "it had been deleted"
	case field.Manager == "":
		return field.Path + ", removed or changed by an unknown manager"
	case field.Time.IsZero():
		return fmt.Sprintf("%s, set by %s (%s)", field.Path, field.Manager, field.Operation)
	}
	return fmt.Sprintf("%s, set by %s (%s) at %s", field.Path, field.Manager, field.Operation, field.Time.UTC().Format(time.RFC3339))
}
