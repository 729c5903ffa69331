package real

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// patience is how long a run may take to come to rest, on a busy machine.
	patience = 5 * time.Minute
	// resync is the time between two looks at a settled object.
	resync = 500 * time.Millisecond
	// poll is the pause between two looks of the test.
	poll = 25 * time.Millisecond
	// breath is for how long nothing changes while nothing is tried again.
	breath = 200 * time.Millisecond
	// retries is for how long nothing changes although something may be tried
	// again: the first pause of the operator is a second.
	retries = 1500 * time.Millisecond
	// silence is for how long nothing changes when nothing will; something that
	// terminates has three times as long, for the namespace controller takes its time.
	silence = 4 * time.Second
	// logged is the level of the log: more than anybody needs and less than whole requests.
	logged = 5
	// grace is by how much the clock is turned on when nothing is left to do: more
	// than a key lives on after it was exchanged.
	grace = time.Hour + time.Minute
	// turns is how often the clock is turned on at each rest: what counts as absent
	// is looked for three times.
	turns = 3
)

// Settle implements faults.Engine. It is settled when it looks as the undisturbed
// run did after the same step, or when for long nothing changes.
func (e *engine) Settle() error {
	var target []string
	if n := len(e.settled); n < len(e.targets) {
		target = e.targets[n]
	}
	e.touched(nil, false)
	e.turned = 0
	if err := e.until(func() bool { return e.rests(target) }); err != nil {
		return err
	}
	e.settled = append(e.settled, e.State())
	return nil
}

// Calm lets the operator do what it can do at once, and does not touch the clock.
func (e *engine) Calm() error {
	e.touched(nil, false)
	return e.until(func() bool {
		if e.quiet() < retries || !e.passes.idle() {
			return false
		}
		if e.deliver() {
			e.touched(nil, false)
			return false
		}
		return true
	})
}

// until polls until something is so, and starts a new incarnation after a crash.
func (e *engine) until(is func() bool) error {
	err := until(func() (bool, error) {
		if !e.now.fence.isDown() {
			return is(), nil
		}
		err := errors.Join(e.now.stop(), e.start())
		e.touched(nil, false)
		return false, err
	})
	if err != nil {
		return fmt.Errorf("does not settle: quiet for %s; the last effects: %s: %w", e.quiet().Round(poll), strings.Join(e.lastEffects(), ", "), err)
	}
	return nil
}

// rests tells whether nothing is left to do. It looks at most once a breath: a
// look asks the API server for everything.
func (e *engine) rests(target []string) bool {
	enough := breath
	if e.disturbed() {
		enough = retries
	}
	quiet := e.quiet()
	if quiet < enough || !e.passes.idle() || time.Since(e.looked) < breath {
		return false
	}
	e.looked = time.Now()
	if quiet < retries {
		return e.reached(target)
	}
	if e.deliver() {
		e.touched(nil, false)
		return false
	}
	if e.reached(target) {
		return true
	}
	if e.turned < turns || e.Waits() {
		e.turn()
		return false
	}
	return quiet >= silence && e.ended(quiet)
}

// reached tells whether it looks as the undisturbed run did.
func (e *engine) reached(target []string) bool {
	return target != nil && !e.held() && slices.Equal(target, e.State())
}

// turn turns the clock on.
func (e *engine) turn() {
	e.ahead.Add(int64(grace))
	e.turned++
	e.touched(nil, false)
}

// disturbed tells whether a fault may have met an effect.
func (e *engine) disturbed() bool { return len(e.Injector.Effects()) > 0 }

func (e *engine) held() bool {
	e.effects.Lock()
	defer e.effects.Unlock()
	return e.Injector.Held()
}

func (e *engine) deliver() bool {
	e.effects.Lock()
	defer e.effects.Unlock()
	return e.Injector.Deliver()
}

// ended tells whether nothing is being deleted that may still go. What is held
// shows by its long silence; an empty namespace is held by nobody and goes when
// its controller comes by, which on a busy machine takes long.
func (e *engine) ended(quiet time.Duration) bool {
	going, objects := false, e.World.Objects()
	for _, o := range objects {
		if o.GetDeletionTimestamp() == nil {
			continue
		}
		going = true
		inside := func(other *unstructured.Unstructured) bool { return other.GetNamespace() == o.GetName() }
		if o.GetKind() == "Namespace" && !slices.ContainsFunc(objects, inside) {
			return false
		}
	}
	return !going || quiet >= 3*silence
}

func (e *engine) lastEffects() []string {
	all := e.Injector.Effects()
	return all[max(0, len(all)-6):]
}

// until polls until something is so.
func until(is func() (bool, error)) error {
	deadline := time.After(patience)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if done, err := is(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("no rest within %s", patience)
		}
	}
}
