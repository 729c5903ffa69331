package escalation

import (
	"encoding/json"
	"reflect"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// FuzzPolicy reads whatever a server says a policy is. What can be read keeps
// every level and target in its place, and is the same when it comes back.
func FuzzPolicy(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"levels":null}`, `{"repeat_count":-1,"levels":[{"timeout":"5m","targets":[{"kind":"oncall"},{"kind":"user","user_id":7}]}]}`,
		`{"levels":[{"timeout":"1h0m0s","targets":[]},{"timeout":"-3s","targets":null}]}`, `{"levels":[{"timeout":"soon"}]}`,
		`{"fallback_topic":"ops","levels":[{"timeout":"1ns","targets":[{"kind":"user","user_id":0}]}]}`,
		`{"levels":[{"timeout":"9223372036854775807ns"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var from terdutapi.EscalationPolicy
		if json.Unmarshal(raw, &from) != nil {
			return
		}
		first, err := parse(&from)
		if err != nil {
			return
		}
		inPlace(t, &from, first)
		if d := differs(first, first); !d.None() {
			t.Errorf("%+v differs from itself in %v", first, d.Fields)
		}
		wire := first.request()
		second, err := parse(&wire)
		if err != nil {
			t.Fatalf("what is sent cannot be read: %v", err)
		}
		if d := differs(first, second); !d.None() || !reflect.DeepEqual(second.request(), wire) {
			t.Errorf("%+v came back as %+v: %v", first, second, d.Fields)
		}
	})
}

// inPlace wants every level and target of a policy to be where it was.
func inPlace(t *testing.T, from *terdutapi.EscalationPolicy, got policy) {
	t.Helper()
	if len(got.levels) != len(from.Levels) {
		t.Fatalf("%d levels became %d", len(from.Levels), len(got.levels))
	}
	for i, level := range from.Levels {
		targets := got.levels[i].targets
		if len(targets) != len(level.Targets) {
			t.Fatalf("level %d: %d targets became %d", i, len(level.Targets), len(targets))
		}
		for j, want := range level.Targets {
			if id := targets[j].userID; want.UserID != nil && *want.UserID != id || want.UserID == nil && id != 0 {
				t.Errorf("level %d, target %d: user %v became %d", i, j, want.UserID, id)
			}
		}
	}
}
