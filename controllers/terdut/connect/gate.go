package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// Outage is the error of a call that any other call to the server would meet
// too, or of one that was not made because of such a call.
type Outage struct {
	// Long is true when the server has been silent for longer than what lives
	// on it bears in silence.
	Long bool
	// Cause is the error of a call.
	Cause error
}

// Error implements error.
func (o *Outage) Error() string { return o.Cause.Error() }

// Unwrap gives the cause.
func (o *Outage) Unwrap() error { return o.Cause }

// Pause is a call that was not made because it is too early for it.
type Pause struct {
	// For is how long to stay away.
	For time.Duration
	// Asked is true when the server has asked for it, and false when the
	// operator spares it.
	Asked bool
}

// Error implements error.
func (p *Pause) Error() string { return fmt.Sprintf("not called for another %s", p.For) }

// gate is the circuit breaker of one session. It counts only what every caller
// would meet: connections that are not made, 502 to 504, and reads that are the
// same for all. A 500 or a time-out that follows the write of one object is that
// object's own affair, so that no tenant can shut the gate for others.
//
// While it is shut nothing passes but the probe, which alone opens it: no
// caller's request is spent on trying, and the pause between two tries grows
// within bounds. The gate is owned by its session and safe for concurrent use.
type gate struct {
	limits Limits
	now    func() time.Time
	// shut is called, without the lock, when the gate has just been shut.
	shut func()

	mu       sync.Mutex
	failures int
	// since is when the first of the failures in a row was seen.
	since  time.Time
	cause  error
	closed bool
	// pause is until when the server has asked to be left alone.
	pause time.Time
}

// check tells why no call can be made now; nil means that one can.
func (g *gate) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return g.outage(g.cause)
	}
	if wait := g.pause.Sub(g.now()); wait > 0 {
		return &Pause{For: wait, Asked: true}
	}
	return nil
}

// outage holds the lock.
func (g *gate) outage(cause error) error {
	return &Outage{Long: g.now().Sub(g.since) >= g.limits.Patience, Cause: cause}
}

// observe takes note of how a call ended and returns its error, as an Outage
// where it is one. common is true for a read that is the same for everybody.
func (g *gate) observe(err error, common bool) error {
	g.mu.Lock()
	var shut bool
	defer func() {
		g.mu.Unlock()
		if shut {
			g.shut()
		}
	}()
	g.honour(err)
	switch {
	case counts(err, common):
	case answered(err) && !g.closed:
		g.failures = 0
		return err
	default:
		return err
	}
	if g.failures == 0 {
		g.since = g.now()
	}
	g.failures++
	g.cause = err
	if !g.closed && g.failures >= g.limits.Failures {
		g.closed, shut = true, true
	}
	return g.outage(err)
}

// honour keeps everybody away for as long as the server asks.
func (g *gate) honour(err error) {
	var answer *terdutapi.Error
	if !errors.As(err, &answer) || answer.RetryAfter <= 0 {
		return
	}
	if until := g.now().Add(answer.RetryAfter); until.After(g.pause) {
		g.pause = until
	}
}

// open lets calls pass again.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.failures, g.cause, g.pause = false, 0, nil, time.Time{}
}

// long tells whether an outage has become one that is told.
func (g *gate) long() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed && g.now().Sub(g.since) >= g.limits.Patience
}

// counts tells whether every other call would have failed as this one has.
func counts(err error, common bool) bool {
	var answer *terdutapi.Error
	var silent *terdutapi.TransportError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false
	case errors.As(err, &silent):
		return common || !silent.Sent
	case errors.As(err, &answer) && errors.Is(err, terdutapi.ErrUnavailable):
		return common || answer.Status >= http.StatusBadGateway && answer.Status <= http.StatusGatewayTimeout
	default:
		return false
	}
}

// answered tells whether a call shows that the server does its work. A 500 does
// not, even where it counts as nothing else.
func answered(err error) bool {
	var answer *terdutapi.Error
	return err == nil || errors.As(err, &answer) && answer.Status < http.StatusInternalServerError
}
