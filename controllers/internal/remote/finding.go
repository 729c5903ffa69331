package remote

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// find sorts an ending into the conditions of the kind.
func (v *visit[T, A, D]) find(s State[D], e *outcome.Ending) status.Finding {
	f := status.Finding{Generation: v.obj.GetGeneration()}
	resolved := status.True(referencesResolved, "Resolved", "everything that the spec refers to is there")
	switch {
	case e == nil || v.stands:
		f.Parts = append([]status.Part{resolved, status.True(synced, "InSync", "the server has it as the spec asks")}, v.beside...)
		if e != nil && e.Stalled {
			f.Stalled = e
		}
		return f
	case e.Condition == referencesResolved:
		f.Parts = []status.Part{status.Of(e), {Type: synced, Status: metav1.ConditionUnknown, Reason: "Blocked",
			Message: "waits for what the spec refers to"}}
	default:
		f.Parts = []status.Part{resolved, status.Of(e.On(synced))}
	}
	f.Parts = append(f.Parts, besideBefore(s.Conditions)...)
	if e.Stalled {
		f.Stalled = e
	}
	if !v.obj.GetDeletionTimestamp().IsZero() {
		f.Degraded = v.stuck(e)
	}
	// A server that does not answer says nothing about what was applied.
	f.KeepReady = e.Status == metav1.ConditionUnknown && s.ObservedGeneration == v.obj.GetGeneration()
	return f
}

// tells tells whether an ending is written into the conditions of an object
// whose generation was applied before, or was not.
func (v *visit[T, A, D]) tells(applied bool, e *outcome.Ending) bool {
	switch {
	case e == nil || e.Tell == outcome.TellAll:
		return true
	case e.Tell == outcome.TellNone:
		return false
	default:
		return !applied || !v.obj.GetDeletionTimestamp().IsZero()
	}
}

// unchanged is an ending in the words that the conditions have for it already:
// that something could not be seen is told once, however the cause is put.
func unchanged(old []metav1.Condition, e *outcome.Ending) *outcome.Ending {
	if e == nil || e.Status != metav1.ConditionUnknown {
		return e
	}
	if c := meta.FindStatusCondition(old, e.Condition); c != nil && c.Status == e.Status && c.Reason == e.Reason {
		same := *e
		same.Message = c.Message
		return &same
	}
	return e
}

// besideBefore are the conditions that Beside returned earlier: a pass that
// does not come to it says nothing about them.
func besideBefore(conditions []metav1.Condition) []status.Part {
	var parts []status.Part
	for _, c := range conditions {
		switch c.Type {
		case "Ready", referencesResolved, synced, "Degraded", "Paused", "Reconciling", "Stalled":
		default:
			parts = append(parts, status.Part{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Aside: true})
		}
	}
	return parts
}
