package status

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// paused is the type of the condition and its reason.
const paused = "Paused"

// Paused are the conditions of an object for which nothing may be done: those
// that it had, since nobody looks, and that it is paused. Ready is left as it
// was only for a generation that was applied.
func Paused(previous []metav1.Condition, generation int64, applied bool, message string, now metav1.Time) []metav1.Condition {
	out := slices.DeleteFunc(slices.Clone(previous), func(c metav1.Condition) bool {
		return c.Type == paused || c.Type == reconciling || c.Type == ready && !applied
	})
	parts := []Part{True(paused, paused, message)}
	if !applied {
		parts = append(parts, Part{Type: ready, Status: metav1.ConditionUnknown, Reason: paused, Message: message})
	}
	for _, p := range parts {
		c := metav1.Condition{
			Type: p.Type, Status: p.Status, Reason: p.Reason, Message: truncate(p.Message),
			ObservedGeneration: generation, LastTransitionTime: now,
		}
		if old := find(previous, p.Type); old != nil && old.Status == p.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		out = append(out, c)
	}
	return out
}

// Unpaused are conditions without the one that says that the object is paused.
func Unpaused(conditions []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == paused })
}

// longestToken is how much of a token a status keeps, in bytes.
const longestToken = 256

// Token is the value of an annotation that asks for something once, as a status
// acknowledges it: cut to 256 bytes.
func Token(value string) string {
	if len(value) > longestToken {
		value = strings.ToValidUTF8(value[:longestToken], "")
	}
	return value
}
