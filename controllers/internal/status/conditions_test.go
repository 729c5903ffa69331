package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

var (
	early = metav1.NewTime(time.Unix(1000, 0))
	late  = metav1.NewTime(time.Unix(2000, 0))
)

func resolved() Part { return True("ReferencesResolved", "Resolved", "all there") }

func inSync() Part { return True("Synced", "InSync", "as asked") }

func spoken(e *outcome.Ending) Part { return Of(e.On("Synced")) }

// read tells what kstatus, and with it Argo CD, Flux and kubectl wait, makes of
// an object: generations first, then Reconciling and Stalled, then Ready.
func read(generation, observed int64, conditions []metav1.Condition) string {
	is := func(conditionType string, status metav1.ConditionStatus) bool {
		c := find(conditions, conditionType)
		return c != nil && c.Status == status
	}
	switch {
	case generation != observed, is("Reconciling", metav1.ConditionTrue):
		return "InProgress"
	case is("Stalled", metav1.ConditionTrue):
		return "Failed"
	case is("Ready", metav1.ConditionFalse), is("Ready", metav1.ConditionUnknown):
		return "InProgress"
	default:
		return "Current"
	}
}

func TestConditions(t *testing.T) {
	refused := outcome.Refused("Synced", "NameConflict", "taken")
	silent := outcome.Unknown("Synced", "ServerUnreachable", "no answer")
	waiting := outcome.Waiting("Synced", "WaitingForRule", "held")
	before := Conditions(nil, Finding{Generation: 1, Parts: []Part{resolved(), inSync()}}, early)
	for _, c := range []struct {
		name     string
		finding  Finding
		observed int64
		want     string
		ready    string
		present  []string
	}{
		{"settled", Finding{Generation: 1, Parts: []Part{resolved(), inSync()}}, 1, "Current", "True Ready", nil},
		{"waits", Finding{Generation: 2, Parts: []Part{resolved(), spoken(waiting)}}, 1, "InProgress", "False WaitingForRule", []string{"Reconciling"}},
		{"refused, never applied", Finding{Generation: 2, Parts: []Part{resolved(), spoken(refused)}, Stalled: refused}, 1,
			"InProgress", "False NameConflict", []string{"Stalled"}},
		{"refused later", Finding{Generation: 1, Parts: []Part{resolved(), spoken(refused)}, Stalled: refused}, 1,
			"Failed", "False NameConflict", []string{"Stalled"}},
		{"silence after it was applied", Finding{Generation: 1, Parts: []Part{resolved(), spoken(silent)}, KeepReady: true}, 1,
			"Current", "True Ready", nil},
		{"silence before", Finding{Generation: 2, Parts: []Part{resolved(), spoken(silent)}}, 1,
			"InProgress", "Unknown ServerUnreachable", []string{"Reconciling"}},
		{"what does not count", Finding{Generation: 1, Parts: []Part{resolved(), inSync(),
			{Type: "Beside", Status: metav1.ConditionFalse, Reason: "Missing", Message: "not there", Aside: true}}}, 1,
			"Current", "True Ready", nil},
		{"a deletion that hangs", Finding{Generation: 2, Parts: []Part{resolved(), spoken(silent)}, Degraded: silent}, 1,
			"InProgress", "Unknown ServerUnreachable", []string{"Degraded", "Reconciling"}},
	} {
		got := Conditions(before, c.finding, late)
		root := find(got, "Ready")
		if told := string(root.Status) + " " + root.Reason; told != c.ready {
			t.Errorf("%s: Ready is %s, want %s", c.name, told, c.ready)
		}
		if state := read(c.finding.Generation, c.observed, got); state != c.want {
			t.Errorf("%s: reads as %s, want %s", c.name, state, c.want)
		}
		for _, extra := range []string{"Degraded", "Reconciling", "Stalled"} {
			if (find(got, extra) != nil) != slices.Contains(c.present, extra) {
				t.Errorf("%s: %s present: %v", c.name, extra, find(got, extra) != nil)
			}
		}
		for i := range got {
			old := find(before, got[i].Type)
			moved := old == nil || old.Status != got[i].Status
			if got[i].LastTransitionTime.Equal(&late) != moved {
				t.Errorf("%s: %s went over at %v", c.name, got[i].Type, got[i].LastTransitionTime)
			}
			if got[i].ObservedGeneration != c.finding.Generation {
				t.Errorf("%s: %s speaks of generation %d", c.name, got[i].Type, got[i].ObservedGeneration)
			}
		}
		again := Conditions(got, c.finding, metav1.NewTime(time.Unix(3000, 0)))
		if !slices.Equal(got, again) {
			t.Errorf("%s: the same finding again is news: %v, then %v", c.name, got, again)
		}
	}
}

func TestLongMessage(t *testing.T) {
	long := outcome.Waiting("Synced", "RequestRefused", "%s", strings.Repeat("ä", 5000))
	for _, c := range Conditions(nil, Finding{Parts: []Part{spoken(long)}}, early) {
		if n := len([]rune(c.Message)); n > maxMessage {
			t.Errorf("%s has %d characters", c.Type, n)
		}
	}
}

func TestTransitions(t *testing.T) {
	of := func(parts ...Part) []metav1.Condition {
		return Conditions(nil, Finding{Generation: 1, Parts: parts}, early)
	}
	good := of(resolved(), inSync())
	missing := Part{Type: "ReferencesResolved", Status: metav1.ConditionFalse, Reason: "WaitingForTeam", Message: "no team"}
	follows := Part{Type: "Synced", Status: metav1.ConditionUnknown, Reason: "Blocked", Message: "waits"}
	conflict := outcome.Refused("Synced", "NameConflict", "taken")
	for _, c := range []struct {
		name          string
		before, after []metav1.Condition
		want          []Event
	}{
		{"nothing", good, good, nil},
		{"ready", nil, good, []Event{{Reason: "Ready", Message: "everything is as the spec asks"}}},
		{"an ordinary start", nil, of(missing, follows), []Event{{Reason: "WaitingForTeam", Message: "no team"}}},
		{"another message is no event", of(missing), of(Part{Type: missing.Type, Status: missing.Status, Reason: missing.Reason, Message: "other words"}), nil},
		{"trouble, told once", good, Conditions(good, Finding{Parts: []Part{resolved(), Of(conflict)}, Stalled: conflict}, late),
			[]Event{{Warning: true, Reason: "NameConflict", Message: "taken"}}},
		{"silence that leaves Ready", good,
			Conditions(good, Finding{Parts: []Part{resolved(), Of(outcome.Unknown("Synced", "ServerUnreachable", "no answer"))}, KeepReady: true}, late),
			[]Event{{Warning: true, Reason: "ServerUnreachable", Message: "no answer"}}},
	} {
		if got := Transitions(c.before, c.after); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
