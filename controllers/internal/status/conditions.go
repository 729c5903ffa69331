// Package status turns what a pass found into conditions, computes Ready from
// them, writes the result once and only when it says something new, and
// derives Events from the difference. It knows no kind.
package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// Types that every kind shares. They are spelled here as the API package
// spells them, which this package does not import; a test compares the two.
const (
	ready       = "Ready"
	degraded    = "Degraded"
	reconciling = "Reconciling"
	stalled     = "Stalled"
)

// Part is one condition of a kind as a pass found it.
type Part struct {
	Type    string
	Status  metav1.ConditionStatus
	Reason  string
	Message string
	// Aside is true for a part that does not count for Ready.
	Aside bool
}

// True is a part that is as it should be.
func True(conditionType, reason, message string) Part {
	return Part{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// Of is the part that an ending makes.
func Of(e *outcome.Ending) Part {
	return Part{Type: e.Condition, Status: e.Status, Reason: e.Reason, Message: e.Message}
}

// Finding is everything a pass found out about an object.
type Finding struct {
	// Generation of the object that was looked at.
	Generation int64
	// Parts in the order in which they count: Ready takes the first that is
	// not True.
	Parts []Part
	// Stalled is the ending that needs a person, if there is one.
	Stalled *outcome.Ending
	// Degraded is the ending that keeps a deletion from finishing, if there is
	// one.
	Degraded *outcome.Ending
	// KeepReady leaves Ready as it was: a server that does not answer says
	// nothing about what was applied to it before.
	KeepReady bool
}

// Conditions computes the conditions of an object from those it had and what
// was found. A transition time changes only with the status beside it.
func Conditions(previous []metav1.Condition, f Finding, now metav1.Time) []metav1.Condition {
	parts := slices.Clone(f.Parts)
	root := readyOf(f.Parts)
	if old := find(previous, ready); f.KeepReady && old != nil {
		root = Part{Type: ready, Status: old.Status, Reason: old.Reason, Message: old.Message}
	}
	parts = append([]Part{root}, parts...)
	if f.Degraded != nil {
		parts = append(parts, Part{Type: degraded, Status: metav1.ConditionTrue, Reason: f.Degraded.Reason, Message: f.Degraded.Message})
	}
	switch {
	case f.Stalled != nil:
		parts = append(parts, Part{Type: stalled, Status: metav1.ConditionTrue, Reason: f.Stalled.Reason, Message: f.Stalled.Message})
	case root.Status != metav1.ConditionTrue:
		parts = append(parts, Part{Type: reconciling, Status: metav1.ConditionTrue, Reason: "Progressing", Message: root.Message})
	}

	out := make([]metav1.Condition, 0, len(parts))
	for _, p := range parts {
		c := metav1.Condition{
			Type: p.Type, Status: p.Status, Reason: p.Reason, Message: truncate(p.Message),
			ObservedGeneration: f.Generation, LastTransitionTime: now,
		}
		if old := find(previous, p.Type); old != nil && old.Status == p.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		out = append(out, c)
	}
	return out
}

func readyOf(parts []Part) Part {
	for _, p := range parts {
		if p.Status != metav1.ConditionTrue && !p.Aside {
			return Part{Type: ready, Status: p.Status, Reason: p.Reason, Message: p.Message}
		}
	}
	return Part{Type: ready, Status: metav1.ConditionTrue, Reason: "Ready", Message: "everything is as the spec asks"}
}

func find(conditions []metav1.Condition, conditionType string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return &conditions[i]
		}
	}
	return nil
}

// maxMessage is a bound of our own, far below what the API allows: a condition
// is read by people.
const maxMessage = 1024

func truncate(s string) string {
	runes := []rune(s)
	if len(runes) <= maxMessage {
		return s
	}
	return string(runes[:maxMessage-1]) + "…"
}

// Speak tells whether any condition speaks of a generation.
func Speak(conditions []metav1.Condition, generation int64) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return c.ObservedGeneration == generation })
}
