package inject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// teams is a server that lists two teams.
type teams struct{}

func (teams) RoundTrip(req *http.Request) (*http.Response, error) {
	return reply(req, http.StatusOK, "application/json", `["a","b"]`), nil
}

// TestReads: what each mode makes of the answer to one question, and that the
// next one is answered well.
func TestReads(t *testing.T) {
	for _, c := range []struct {
		mode Mode
		want string
	}{
		{ReadRefused, "refused"}, {ReadTimeout, "deadline"}, {ReadInternal, "500"}, {ReadUnavailable, "503"},
		{ReadUnauthorized, "401"}, {ReadHTML, "200 <h1>"}, {ReadEmpty, "200 []"},
	} {
		j := &Injector{}
		j.Arm(Fault{Label: "REST GET /api/teams #1", Mode: c.mode})
		wire := j.REST(&Fence{}, teams{})
		if got := ask(t, wire); !strings.Contains(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.mode, got, c.want)
		}
		if got := ask(t, wire); got != `200 ["a","b"]` || !j.Fired() {
			t.Errorf("after %v: got %q, all faults met %v", c.mode, got, j.Fired())
		}
	}
}

// TestPoints: a question that is armed tells what can go wrong with it: a list
// that is there can be shown empty, and a cache does not fail.
func TestPoints(t *testing.T) {
	j := &Injector{}
	j.Arm()
	ask(t, j.REST(&Fence{}, teams{}))
	for _, found := range []int{0, 2} {
		call := world.Call{Verb: "list", ID: world.ID{Kind: "Secret"}, Found: func() int { return found }}
		if err := j.Cached(&Fence{})(t.Context(), call, func() error { return nil }); err != nil {
			t.Error(err)
		}
	}
	var got [][]Mode
	for _, r := range j.Reads() {
		got = append(got, r.Modes)
	}
	if len(got) != 3 || !slices.Equal(got[0], Reads()) || len(got[1]) != 0 || !slices.Equal(got[2], []Mode{ReadEmpty}) {
		t.Errorf("points: %v", got)
	}
}

// TestAgain: who asks the same a third time while nothing changes gets no wrong
// answer of its own; after an effect, a change or a step it does.
func TestAgain(t *testing.T) {
	j := &Injector{}
	j.Arm()
	again := func() (out []bool) {
		before := len(j.Reads())
		for range 3 {
			ask(t, j.REST(&Fence{}, teams{}))
		}
		for _, r := range j.Reads()[before:] {
			out = append(out, r.Again)
		}
		return out
	}
	want := []bool{false, false, true}
	for _, between := range []struct {
		what string
		do   func()
	}{{"nothing", func() {}}, {"a change", func() { j.Changed("Secret ns/a") }}, {"a step", j.Step}} {
		between.do()
		if got := again(); !slices.Equal(got, want) {
			t.Errorf("after %s: %v, want %v", between.what, got, want)
		}
	}
}

// TestStops: a process that is told to end has its requests cancelled, and no
// other one.
func TestStops(t *testing.T) {
	for _, c := range []struct {
		mode Mode
		done int
		err  error
	}{{StopBefore, 0, context.Canceled}, {StopAfter, 1, nil}, {StopLost, 1, context.Canceled}} {
		j := &Injector{}
		j.Arm(Fault{Label: "write #1", Mode: c.mode})
		ctx, stop := context.WithCancel(t.Context())
		fence, done := &Fence{Stop: stop}, 0
		r := request{what: "write", do: func() error { done++; return nil }}
		if err := j.effect(ctx, fence, r); !errors.Is(err, c.err) || done != c.done || fence.Down {
			t.Errorf("%v: done %d times, error %v, fence down %v", c.mode, done, err, fence.Down)
		}
		if err := j.effect(ctx, fence, r); !errors.Is(err, context.Canceled) {
			t.Errorf("after %v a request is sent", c.mode)
		}
		if err := j.effect(context.WithoutCancel(ctx), fence, r); err != nil {
			t.Errorf("after %v what is not to be cancelled is: %v", c.mode, err)
		}
	}
}

// ask is the status and the body of a list of teams, or the error.
func ask(t *testing.T, wire http.RoundTripper) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://terdut.platform.svc/api/teams", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := wire.RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", answer.StatusCode, body)
}
