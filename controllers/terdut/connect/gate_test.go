package connect

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// testSession is a session on a network that the test plays. Its probe does not
// run.
func testSession(t *testing.T, c *clock, network http.RoundTripper) *session {
	t.Helper()
	s := New(Options{Transport: network, Clock: c.now, UserAgent: "test", Limits: Limits{Window: time.Minute}})
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut", UID: "uid"}}
	one, err := s.session(context.Background(), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(one.close)
	one.gate.shut = func() {}
	key := "key"
	one.key.Store(&key)
	return one
}

// behind is a network that a test can exchange.
type behind struct{ http.RoundTripper }

func refusing() http.RoundTripper {
	return wire(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	})
}

func timingOut() http.RoundTripper {
	return wire(func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded })
}

func read(one *session) error {
	_, err := (&Turn{session: one, namespace: "n"}).Teams(context.Background(), remote.Fresh)
	return err
}

func write(one *session) error {
	_, err := (&Turn{session: one, namespace: "n"}).CreateTeam(context.Background(), "a")
	return err
}

func readTeam(one *session) error {
	_, err := (&Turn{session: one, namespace: "n"}).Escalation(context.Background(), 7, remote.Fresh)
	return err
}

// TestWhatCounts: only what every caller would meet shuts the gate.
func TestWhatCounts(t *testing.T) {
	for name, c := range map[string]struct {
		network http.RoundTripper
		call    func(*session) error
		shuts   bool
	}{
		"no connection, for a write":  {refusing(), write, true},
		"502, for a write":            {said(502, "bad gateway"), write, true},
		"503, for a write":            {said(503, "unavailable"), write, true},
		"504, for a write":            {said(504, "time-out"), write, true},
		"500, for a write":            {said(500, "internal"), write, false},
		"time-out of a write":         {timingOut(), write, false},
		"409, for a write":            {said(409, "name in use"), write, false},
		"422, for a write":            {said(422, "invalid"), write, false},
		"500, for everybody's list":   {said(500, "internal"), read, true},
		"time-out, everybody's list":  {timingOut(), read, true},
		"401, for everybody's list":   {said(401, "unauthorized"), read, false},
		"500, for one team's list":    {said(500, "internal"), readTeam, false},
		"time-out of one team's list": {timingOut(), readTeam, false},
		"502, for one team's list":    {said(502, "bad gateway"), readTeam, true},
	} {
		one := testSession(t, newClock(), c.network)
		for i := range 10 {
			if one.gate.check() != nil && i < 3 {
				t.Errorf("%s: shut after %d calls", name, i)
			}
			if err := c.call(one); err == nil {
				t.Fatalf("%s: works", name)
			}
		}
		var outage *Outage
		if shut := errors.As(one.gate.check(), &outage); shut != c.shuts {
			t.Errorf("%s: shut is %v", name, shut)
		}
	}
}

// TestSuccessBetween: failures count in a row only.
func TestSuccessBetween(t *testing.T) {
	network := &behind{}
	one := testSession(t, newClock(), network)
	for range 10 {
		for _, now := range []http.RoundTripper{refusing(), refusing(), said(422, "invalid")} {
			network.RoundTripper = now
			_ = write(one)
		}
	}
	if err := one.gate.check(); err != nil {
		t.Errorf("shut: %v", err)
	}
}

// TestShut: while the gate is shut nothing is sent, and the ending says what
// the server does; it is told after two minutes.
func TestShut(t *testing.T) {
	sent := 0
	c := newClock()
	one := testSession(t, c, wire(func(r *http.Request) (*http.Response, error) { sent++; return refusing().RoundTrip(r) }))
	for range 1000 {
		_ = write(one)
	}
	if sent != 3 {
		t.Errorf("%d requests reached a dead server", sent)
	}
	for _, want := range []outcome.Telling{outcome.TellNew, outcome.TellAll} {
		ending, ok := outcome.As(Explain(one.gate.check(), v1alpha1.ConditionSynced, "reach it"))
		if !ok || ending.Reason != v1alpha1.ReasonServerUnreachable || ending.Status != metav1.ConditionUnknown || ending.Tell != want {
			t.Errorf("ends in %+v, want it told to %v", ending, want)
		}
		c.pass(2 * time.Minute)
	}
	one.gate.open()
	if err := one.gate.check(); err != nil {
		t.Errorf("open, and still %v", err)
	}
}

// TestRetryAfter: a server that asks for a pause gets it from everybody.
func TestRetryAfter(t *testing.T) {
	sent := 0
	c := newClock()
	one := testSession(t, c, wire(func(r *http.Request) (*http.Response, error) { sent++; return said(429, "slow").RoundTrip(r) }))
	if err := write(one); !errors.Is(err, terdutapi.ErrRateLimited) {
		t.Fatalf("got %v", err)
	}
	for range 100 {
		ending, ok := outcome.As(Explain(read(one), v1alpha1.ConditionSynced, "list"))
		if !ok || ending.After != 7*time.Second || ending.Tell != outcome.TellNew {
			t.Fatalf("ends in %+v", ending)
		}
	}
	if sent != 1 {
		t.Errorf("%d requests", sent)
	}
	c.pass(7 * time.Second)
	_ = write(one)
	if sent != 2 {
		t.Errorf("%d requests after the pause", sent)
	}
}

// TestNoToken: a pass without a token is told when to come, and nobody else is
// told; one that has begun goes on.
func TestNoToken(t *testing.T) {
	one := testSession(t, newClock(), said(409, "name in use"))
	one.tokens = newTokens(10, 1, one.gate.now)
	begun := &Turn{session: one, namespace: "a"}
	for range 5 {
		if _, err := begun.CreateTeam(context.Background(), "a"); !errors.Is(err, terdutapi.ErrConflict) {
			t.Fatalf("a pass that has begun ends with %v", err)
		}
	}
	ending, ok := outcome.As(Explain(write(one), v1alpha1.ConditionSynced, "create"))
	if !ok || ending.After < 400*time.Millisecond || ending.Tell != outcome.TellNone {
		t.Errorf("ends in %+v", ending)
	}
}

// TestListThatFailsAlone: a list of all that cannot be read is told of, though
// other calls keep the gate open.
func TestListThatFailsAlone(t *testing.T) {
	c := newClock()
	network := &behind{}
	one := testSession(t, c, network)
	told := outcome.TellNew
	for minute := range 5 {
		network.RoundTripper = said(500, "internal")
		ending, ok := outcome.As(Explain(read(one), v1alpha1.ConditionSynced, "list teams"))
		if minute >= 2 {
			told = outcome.TellAll
		}
		if !ok || ending.Tell != told || ending.Message != "list teams: the server is unavailable (500)" {
			t.Errorf("minute %d: %+v", minute, ending)
		}
		network.RoundTripper = said(422, "invalid")
		_ = write(one)
		c.pass(time.Minute)
	}
}
