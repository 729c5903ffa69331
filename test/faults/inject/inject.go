// Package inject makes something go wrong at one point of a run. There are three
// sorts of points, and each has a label that is the same in every run:
//
//   - an effect is a request that can change something, to the API server or to a
//     terdut-server: "K8S apply Secret ns/a #1", "REST POST /api/teams #1";
//   - a read is a question to either of them, or a list that is read from the
//     cache: "K8S get Secret ns/a #1", "CACHE list TerdutTeam / #2";
//   - a change is what has become of an object of the API server, whoever did it:
//     "CHANGE Secret ns/a #2".
package inject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Fence stands between one incarnation and everything outside of it. Once it
// is down nothing passes, so that no goroutine of a process that has ended does
// anything.
type Fence struct {
	Down bool
	// Stop tells the incarnation to end, as a signal does. Nil for one that
	// cannot be told.
	Stop func()
}

// errFenced is what a process sees that has ended; nobody reads it.
var errFenced = errors.New("the process has ended")

// errLost is what a caller sees of an answer that does not arrive.
var errLost = errors.New("read: connection reset by peer")

// errRefused is what a caller sees of a request that does not arrive.
var errRefused = errors.New("dial tcp: connection refused")

// Point is a read or a change, and what can go wrong with it.
type Point struct {
	Label string
	// Modes are those that make a difference: a cache does not fail, and what is
	// empty cannot be shown empty by mistake.
	Modes []Mode
	// Again is true of a question that was asked twice since anything has changed:
	// who waits asks the same again and again, and a wrong answer is met with what
	// was decided of the one before.
	Again bool
}

// Injector counts the points of all incarnations. Its lock keeps the books
// together; whoever has several goroutines sees to it that effects come one after
// the other.
type Injector struct {
	// Twist does what the modes of Views and Overlap ask for.
	Twist func(Mode)

	mu sync.Mutex
	// armed is false while the points are not the ones that are meant, such as
	// those that prepare a scenario. They pass and are not counted.
	armed bool
	// faults are still to come.
	faults []Fault
	counts map[string]int
	// asked is how often each question was asked since anything has changed.
	asked map[string]int
	// effects, changes and reads are what was there, in order.
	effects        []string
	changes, reads []Point
	refused        []string
	held           []late
	turns          *turns
}

type late struct {
	what    string
	deliver func()
}

// Arm begins to count, and makes faults happen.
func (j *Injector) Arm(faults ...Fault) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.armed, j.faults = true, slices.Clone(faults)
	i := slices.IndexFunc(j.faults, func(f Fault) bool { return f.Mode == Shuffled })
	if i >= 0 {
		j.turns = newTurns(j.faults[i].Label)
		j.faults = slices.Delete(j.faults, i, i+1)
	}
}

// Step begins a step: what people do may change what the points do not show.
func (j *Injector) Step() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.asked)
}

// Fired tells whether every fault has met its point.
func (j *Injector) Fired() bool { return j.Left() == 0 }

// Left is how many faults are still to come.
func (j *Injector) Left() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.faults)
}

// Effects are the labels of all effects, in order.
func (j *Injector) Effects() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.effects)
}

// Changes are all changes, in order.
func (j *Injector) Changes() []Point {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.changes)
}

// Reads are all reads, in order.
func (j *Injector) Reads() []Point {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.reads)
}

// next counts a point. It holds the lock. The label is empty while the injector
// is not armed, and fault is nil where nothing goes wrong.
func (j *Injector) next(what string) (label string, fault *Fault) {
	if !j.armed {
		return "", nil
	}
	if j.counts == nil {
		j.counts = map[string]int{}
	}
	j.counts[what]++
	label = fmt.Sprintf("%s #%d", what, j.counts[what])
	i := slices.IndexFunc(j.faults, func(f Fault) bool { return f.Label == label })
	if i < 0 {
		return label, nil
	}
	f := j.faults[i]
	j.faults = slices.Delete(j.faults, i, i+1)
	return label, &f
}

// Changed counts a change with which that can go wrong, and tells what does.
func (j *Injector) Changed(what string, modes ...Mode) (Mode, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	label, fault := j.next("CHANGE " + what)
	if label == "" {
		return 0, false
	}
	j.changes = append(j.changes, Point{Label: label, Modes: modes})
	clear(j.asked)
	if fault == nil {
		return 0, false
	}
	return fault.Mode, true
}

// note notes an effect that was refused.
func (j *Injector) note(label string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.refused = append(j.refused, label)
}

// Refused are the labels of those effects that were refused by whom they were
// meant for, such as a write from a cache that was behind, in order.
func (j *Injector) Refused() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.refused)
}

// Held tells whether something is late and was not carried out yet.
func (j *Injector) Held() bool { return len(j.held) > 0 }

// Deliver carries out what is late. It tells whether there was anything.
func (j *Injector) Deliver() bool {
	held := j.held
	j.held = nil
	for _, l := range held {
		l.deliver()
	}
	return len(held) > 0
}

// request is one effect: do carries it out; again does the same, later; answer
// makes the error of a status.
type request struct {
	what string
	do   func() error
	// refused tells whether the answer was a refusal; nil where do says so.
	refused func() bool
	again   func()
	answer  func(Mode) error
}

// effect carries out one effect, or lets it end badly. What is cancelled is not
// sent.
func (j *Injector) effect(ctx context.Context, fence *Fence, r request) error {
	if fence.Down {
		return errFenced
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	label, fault := j.next(r.what)
	if label != "" {
		j.effects = append(j.effects, label)
		clear(j.asked)
	}
	j.mu.Unlock()
	if fault == nil {
		err := r.do()
		if label != "" && (err != nil || r.refused != nil && r.refused()) {
			j.note(label)
		}
		j.retried(r.what)
		return err
	}
	return j.bad(ctx, fence, r, fault.Mode)
}

// bad lets an effect end badly.
func (j *Injector) bad(ctx context.Context, fence *Fence, r request, mode Mode) error {
	switch mode {
	case CrashBefore:
		fence.Down = true
		return errFenced
	case CrashAfter, OldCache:
		_ = r.do() // nobody is left to hear of it
		fence.Down = true
		if mode == OldCache {
			j.Twist(mode)
		}
		return errFenced
	case StopBefore, StopAfter, StopLost:
		return stopped(ctx, fence, r, mode)
	case LostResponse:
		_ = r.do() // what it says is lost
		return errLost
	case Refused:
		return errRefused
	case Late:
		j.held = append(j.held, late{what: r.what, deliver: r.again})
		return errors.New("net/http: request canceled (Client.Timeout exceeded)")
	case Conflict, Invalid, TooMany:
		return r.answer(mode)
	default:
		j.Twist(mode)
		return r.do()
	}
}

// stopped tells the process to end, before or after the effect. What it waits
// for is cut off where its context is bound to its life.
func stopped(ctx context.Context, fence *Fence, r request, mode Mode) error {
	if mode == StopBefore {
		fence.Stop()
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.do()
	}
	err := r.do()
	fence.Stop()
	if mode == StopLost && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// retried delivers what is late and has just been tried again.
func (j *Injector) retried(what string) {
	var due []late
	j.held = slices.DeleteFunc(j.held, func(l late) bool {
		if l.what == what {
			due = append(due, l)
		}
		return l.what == what
	})
	for _, l := range due {
		l.deliver()
	}
}
