// Package inject interrupts the operator at one of its effects. An effect is a
// request that can change something, to the API server or to a terdut-server;
// both are counted by one injector, and each effect has a label that is the same
// in every run: "K8S apply Secret ns/a #1", "REST POST /api/teams #1".
package inject

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Mode is how a request ends badly.
type Mode int

// The modes.
const (
	// CrashBefore: the process ends before the request is sent.
	CrashBefore Mode = iota
	// CrashAfter: it ends after the request was carried out.
	CrashAfter
	// LostResponse: the request is carried out, its answer does not arrive.
	LostResponse
	// Refused: the request does not arrive.
	Refused
	// Conflict: the answer is a 409, and nothing was done.
	Conflict
	// Invalid: the answer is a 422, and nothing was done.
	Invalid
	// TooMany: the answer is a 429, and nothing was done.
	TooMany
	// Late: the caller sees a time-out, and the request is carried out after it
	// was tried again.
	Late

	// Lagging: from here on the operator's cache is some writes behind.
	Lagging
	// Frozen: from here on it shows nothing new of any custom resource.
	Frozen
	// OldCache: crash-after, and the next incarnation begins with the past.
	OldCache
	// Overlap: before the request is sent another incarnation has begun and has
	// done all that it could; then this one ends its pass, without its lease.
	Overlap
)

var modeNames = []string{
	"crash-before", "crash-after", "lost-response", "refused", "409", "422", "429", "late-duplicate",
	"lagging-view", "frozen-view", "old-cache", "overlap",
}

// Views are the modes in which every request is answered well, and what the
// operator sees, or who else acts, is wrong.
func Views() []Mode { return []Mode{Lagging, Frozen, OldCache, Overlap} }

// Modes are the modes in which a request ends badly.
func Modes() []Mode {
	return []Mode{CrashBefore, CrashAfter, LostResponse, Refused, Conflict, Invalid, TooMany, Late}
}

// String implements fmt.Stringer.
func (m Mode) String() string { return modeNames[m] }

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, error) {
	i := slices.Index(modeNames, name)
	if i < 0 {
		return 0, fmt.Errorf("there is no mode %q: use one of %s", name, strings.Join(modeNames, ", "))
	}
	return Mode(i), nil
}

// Crashes tells whether the process ends.
func (m Mode) Crashes() bool { return m == CrashBefore || m == CrashAfter }

// Arrives tells whether the request is carried out, sooner or later, although
// nobody hears of it.
func (m Mode) Arrives() bool { return m == CrashAfter || m == LostResponse || m == Late }

// Fault is one bad end of one effect.
type Fault struct {
	Label string
	Mode  Mode
}

// String is the fault as Parse reads it.
func (f Fault) String() string { return f.Mode.String() + " @ " + f.Label }

// Parse reads a fault.
func Parse(text string) (Fault, error) {
	mode, label, ok := strings.Cut(text, " @ ")
	if !ok {
		return Fault{}, fmt.Errorf("read fault %q: write <mode> @ <label>", text)
	}
	m, err := ParseMode(mode)
	return Fault{Label: label, Mode: m}, err
}

// Fence stands between one incarnation and everything outside of it. Once it
// is down nothing passes, so that no goroutine of a process that has ended does
// anything.
type Fence struct{ Down bool }

// errFenced is what a process sees that has ended; nobody reads it.
var errFenced = errors.New("the process has ended")

// errLost is what a caller sees of an answer that does not arrive.
var errLost = errors.New("read: connection reset by peer")

// Injector counts the effects of all incarnations and makes some end badly. Its
// lock keeps the books together; whoever has several goroutines sees to it that
// effects come one after the other.
type Injector struct {
	// Twist does what the modes of Views ask for.
	Twist func(Mode)

	mu sync.Mutex
	// armed is false while the effects are not the ones that are meant, such as
	// those that prepare a scenario. They pass and are not counted.
	armed bool
	// faults are still to come.
	faults []Fault
	// trace has the label of every effect, in order.
	trace  []string
	counts map[string]int
	held   []late
}

type late struct {
	what    string
	deliver func()
}

// Arm begins to count, and makes those effects end badly that faults name.
func (j *Injector) Arm(faults ...Fault) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.armed, j.faults = true, slices.Clone(faults)
}

// Fired tells whether every fault has met its effect.
func (j *Injector) Fired() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.faults) == 0
}

// Effects are the labels of all effects, in order.
func (j *Injector) Effects() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.trace)
}

// next counts an effect. counted is false while the injector is not armed, and
// fault is nil for an effect that ends well.
func (j *Injector) next(what string) (fault *Fault, counted bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.armed {
		return nil, false
	}
	if j.counts == nil {
		j.counts = map[string]int{}
	}
	j.counts[what]++
	label := fmt.Sprintf("%s #%d", what, j.counts[what])
	j.trace = append(j.trace, label)
	i := slices.IndexFunc(j.faults, func(f Fault) bool { return f.Label == label })
	if i < 0 {
		return nil, true
	}
	f := j.faults[i]
	j.faults = slices.Delete(j.faults, i, i+1)
	return &f, true
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

// effect carries out one effect, or lets it end badly. do carries out the
// request; again is the same, later; answer makes the error of a status.
func (j *Injector) effect(fence *Fence, what string, do func() error, again func(), answer func(Mode) error) error {
	if fence.Down {
		return errFenced
	}
	fault, counted := j.next(what)
	if !counted {
		return do()
	}
	if fault == nil {
		err := do()
		j.retried(what)
		return err
	}
	switch mode := fault.Mode; mode {
	case Lagging, Frozen, Overlap:
		j.Twist(mode)
		return do()
	case OldCache:
		_ = do() // nobody is left to hear of it
		fence.Down = true
		j.Twist(mode)
		return errFenced
	case CrashBefore:
		fence.Down = true
		return errFenced
	case CrashAfter:
		_ = do() // nobody is left to hear of it
		fence.Down = true
		return errFenced
	case LostResponse:
		_ = do() // what it says is lost
		return errLost
	case Refused:
		return errors.New("dial tcp: connection refused")
	case Late:
		j.held = append(j.held, late{what: what, deliver: again})
		return errors.New("net/http: request canceled (Client.Timeout exceeded)")
	default:
		return answer(mode)
	}
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
