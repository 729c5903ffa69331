package inject

import (
	"errors"
	"testing"
)

// TestModes: what each mode does to one effect: how often it is carried out, and
// whether anything passes the fence afterwards.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode        Mode
		done, later int
		down        bool
	}{
		{CrashBefore, 0, 0, true},
		{CrashAfter, 1, 1, true},
		{LostResponse, 1, 2, false},
		{Refused, 0, 1, false},
		{Conflict, 0, 1, false},
		{Invalid, 0, 1, false},
		{TooMany, 0, 1, false},
		{Late, 0, 2, false},
	} {
		j := &Injector{}
		j.Arm(Fault{Label: "write #1", Mode: c.mode})
		fence, done := &Fence{}, 0
		do := func() error { done++; return nil }
		try := func() error {
			return j.effect(t.Context(), fence, request{
				what: "write", do: do, again: func() { _ = do() }, answer: func(m Mode) error { return errors.New(m.String()) },
			})
		}
		if err := try(); err == nil {
			t.Errorf("%v: the caller sees no error", c.mode)
		}
		if done != c.done || fence.Down != c.down || !j.Fired() {
			t.Errorf("%v: done %d times, fence down %v, all faults met %v", c.mode, done, fence.Down, j.Fired())
		}
		_ = try() // again, as the operator does
		if done != c.later {
			t.Errorf("%v: after a second try done %d times", c.mode, done)
		}
	}
}

// TestFaultsAreReadAsWritten: the text of a fault is the fault.
func TestFaultsAreReadAsWritten(t *testing.T) {
	for _, mode := range All() {
		f := Fault{Label: "REST POST /api/teams #1", Mode: mode}
		if got, err := Parse(f.String()); err != nil || got != f {
			t.Errorf("%v became %v, %v", f, got, err)
		}
	}
	if _, err := Parse("burn @ it"); err == nil {
		t.Error("an unknown mode is read")
	}
}

func TestTemplate(t *testing.T) {
	if got := Template("/api/teams/12/integrations/7"); got != "/api/teams/{id}/integrations/{id}" {
		t.Error(got)
	}
}
