package escalation

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

func random(r *rand.Rand) policy {
	p := policy{repeat: r.IntN(3), fallback: []string{"", "ops"}[r.IntN(2)]}
	for range 1 + r.IntN(4) {
		l := level{timeout: time.Duration(1+r.IntN(3)) * time.Minute}
		for range 1 + r.IntN(4) {
			l.targets = append(l.targets, target{userID: int64(r.IntN(4))})
		}
		p.levels = append(p.levels, l)
	}
	return p
}

// TestOrderIsExact: over the wire and back a policy is the same, and two
// policies are equal only if every level and target stands in the same place.
func TestOrderIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		a, b := random(r), random(r)
		raw, err := json.Marshal(a.request())
		if err != nil {
			t.Fatal(err)
		}
		var wire terdutapi.EscalationPolicy
		if err = json.Unmarshal(raw, &wire); err != nil {
			t.Fatal(err)
		}
		back, err := parse(&wire)
		if err != nil || !reflect.DeepEqual(a, back) || !differs(a, back).None() {
			t.Fatalf("%+v came back as %+v, %v", a, back, err)
		}
		if same := reflect.DeepEqual(a, b); differs(a, b).None() != same || differs(b, a).None() != same {
			t.Fatalf("%+v and %+v: differ in %v", a, b, differs(a, b).Fields)
		}
		swapped := a
		swapped.levels = slices.Clone(a.levels)
		slices.Reverse(swapped.levels)
		if differs(a, swapped).None() != reflect.DeepEqual(a, swapped) {
			t.Fatalf("%+v: a changed order counts as none", a)
		}
	}
}

func TestFieldsThatDiffer(t *testing.T) {
	one := policy{levels: []level{{time.Minute, []target{{}}}, {time.Minute, []target{{1}, {2}}}}}
	other := policy{repeat: 1, fallback: "x", levels: []level{{time.Hour, []target{{}}}, {time.Minute, []target{{2}, {1}}}}}
	want := []string{"repeatCount", "fallbackTopic", "levels[0].timeout", "levels[1].targets"}
	if got := differs(one, other).Fields; !slices.Equal(got, want) {
		t.Errorf("fields %v, want %v", got, want)
	}
	if got := differs(one, policy{}).Fields; !slices.Equal(got, []string{"levels"}) {
		t.Errorf("fields %v, want levels", got)
	}
	if differs(one, other).Replace {
		t.Error("a policy is changed in place")
	}
}

func TestResolveWithoutUsers(t *testing.T) {
	spec := &v1alpha1.TerdutEscalationRuleSpec{RepeatCount: 2, FallbackTopic: "ops", Levels: []v1alpha1.EscalationLevel{
		{Timeout: "1h30m", Targets: []v1alpha1.EscalationTarget{{Kind: v1alpha1.TargetOnCall}}},
	}}
	got, err := resolve(context.Background(), attach.Access{}, spec, remote.Fresh) // no session: no user may be asked for
	want := policy{repeat: 2, fallback: "ops", levels: []level{{90 * time.Minute, []target{{}}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("resolved to %+v, %v", got, err)
	}
	spec.Levels[0].Timeout = "soon"
	_, err = resolve(context.Background(), attach.Access{}, spec, remote.Fresh)
	if ending, ok := outcome.As(err); !ok || ending.Reason != v1alpha1.ReasonInvalid || !ending.Stalled {
		t.Errorf("a bad timeout ends in %v", err)
	}
}

func TestParseRefusesWhatIsNoTime(t *testing.T) {
	_, err := parse(&terdutapi.EscalationPolicy{Levels: []terdutapi.EscalationLevel{{Timeout: "a secret"}}})
	ending, ok := outcome.As(err)
	if !ok || ending.Reason != v1alpha1.ReasonUnexpectedAnswer || ending.Message != "read the escalation policy: the timeout of level 0 is not a duration" {
		t.Errorf("ended in %v", err)
	}
}
