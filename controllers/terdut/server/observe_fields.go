package server

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// Fields are fields of the children that other managers have a say in.
type Fields struct {
	// Ceded are left to others. Contested are taken back by others again and
	// again.
	Ceded, Contested []apply.Field
}

// fieldParts are conditions that are present only while they are true. They
// keep nothing from being ready. Before the pass came to the children, they are
// what they were.
func fieldParts(server *v1alpha1.TerdutServer, seen Seen) []status.Part {
	if seen.Fields == nil {
		var parts []status.Part
		for _, of := range []string{v1alpha1.ConditionCeded, v1alpha1.ConditionContested} {
			if c := meta.FindStatusCondition(server.Status.Conditions, of); c != nil {
				parts = append(parts, status.Part{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
			}
		}
		return parts
	}
	var parts []status.Part
	if list := seen.Fields.Ceded; len(list) > 0 {
		parts = append(parts, status.True(v1alpha1.ConditionCeded, v1alpha1.ReasonFieldsCeded,
			"left to other field managers, as long as they set it: "+named(list)))
	}
	if list := seen.Fields.Contested; len(list) > 0 {
		parts = append(parts, status.True(v1alpha1.ConditionContested, v1alpha1.ReasonFieldsContested,
			"somebody keeps changing what the operator sets, which is repaired once per resync from now on: "+named(list)))
	}
	return parts
}

// fieldEvents tell of fields once, when they begin to be ceded or contested.
func fieldEvents(before, after []metav1.Condition) []status.Event {
	var out []status.Event
	for _, of := range []string{v1alpha1.ConditionCeded, v1alpha1.ConditionContested} {
		old, now := meta.FindStatusCondition(before, of), meta.FindStatusCondition(after, of)
		if now != nil && (old == nil || old.Message != now.Message) {
			out = append(out, status.Event{Warning: of == v1alpha1.ConditionContested, Reason: now.Reason, Message: now.Message})
		}
	}
	return out
}

// named tells fields and who has them, the same whenever it is asked.
func named(list []apply.Field) string {
	parts := make([]string, 0, len(list))
	for _, f := range list {
		manager := f.Manager
		if manager == "" {
			manager = "an unknown manager"
		}
		parts = append(parts, fmt.Sprintf("%s of %s %s (%s)", f.Path, f.Key.Kind, f.Key.Name, foreign(manager)))
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if len(parts) > maxFields {
		parts = append(parts[:maxFields:maxFields], fmt.Sprintf("and %d more", len(parts)-maxFields))
	}
	return strings.Join(parts, "; ")
}
