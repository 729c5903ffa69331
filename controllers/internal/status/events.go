package status

import (
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// blocked is the reason of a condition about which nothing can be said because
// another one is not True.
const blocked = "Blocked"

// Event is something worth telling about an object.
type Event struct {
	// Warning is true when a person may have to look.
	Warning bool
	// Reason is the machine-readable name: the reason of a condition, or what
	// was done.
	Reason string
	// Message says what happened, on which object.
	Message string
}

// Transitions derives the Events of a change of conditions: one when Ready
// becomes True, one for every other condition whose trouble is new. Parts that
// merely follow from another (the same reason, or Blocked by it) are told once.
func Transitions(before, after []metav1.Condition) []Event {
	var out []Event
	told := map[string]bool{}
	for _, c := range after {
		old := find(before, c.Type)
		if old != nil && old.Status == c.Status && old.Reason == c.Reason {
			continue
		}
		good := c.Type == ready && c.Status == metav1.ConditionTrue
		if !good && (!isTrouble(c) || told[c.Reason]) {
			continue
		}
		told[c.Reason] = true
		out = append(out, Event{Warning: !good && !waits(c), Reason: c.Reason, Message: c.Message})
	}
	return out
}

// isTrouble tells the conditions that say that something is not as it should
// be.
func isTrouble(c metav1.Condition) bool {
	switch c.Type {
	case reconciling:
		return false
	case degraded, stalled, paused:
		return true
	default:
		return c.Status != metav1.ConditionTrue && c.Reason != blocked
	}
}

// waits tells the reasons that are part of an ordinary start from those that
// somebody should look at.
func waits(c metav1.Condition) bool {
	switch c.Reason {
	case "WaitingForServer", "WaitingForTeam", "RolloutInProgress", "Progressing", paused:
		return true
	default:
		return false
	}
}

// Emit tells the events about an object, in order.
func Emit(recorder events.EventRecorder, obj runtime.Object, list ...Event) {
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		message := truncate(e.Message)
		recorder.Eventf(obj, apart(message), kind, e.Reason, "Reconcile", "%s", message)
	}
}

// apart keeps Events with different messages apart. The recorder makes a series
// of those that agree in everything but the message, and shows the first one's:
// the second of two drifts would be told with the fields of the first.
func apart(message string) *corev1.ObjectReference {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(message)) // a hash never fails to be written to
	return &corev1.ObjectReference{FieldPath: fmt.Sprintf("message-%08x", sum.Sum32())}
}
