package inject

import (
	"fmt"
	"slices"
	"strings"
)

// Mode is what goes wrong at one point of a run.
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

	// Overlap: before the request is sent another incarnation has begun and has
	// done all that it could; then this one ends its pass, without its lease.
	Overlap
	// StopBefore: before the request is sent the process is told to end. It does
	// what a process does then, and a new one begins.
	StopBefore
	// StopAfter: the same, after the request was answered.
	StopAfter
	// StopLost: the same, when the request was carried out and not answered yet.
	StopLost

	// Lagging: from here on the operator's cache is some writes behind.
	Lagging
	// Frozen: from here on it shows nothing new of any custom resource.
	Frozen
	// FrozenChildren: nothing new of what the operator makes of them.
	FrozenChildren
	// Leap: the cache shows the past for one look at everything, and then the
	// present again.
	Leap
	// Spread: each kind is further behind than the one before it.
	Spread
	// SpreadBack: the same the other way round.
	SpreadBack
	// OldCache: crash-after, and the next incarnation begins with the past.
	OldCache

	// HiddenEvent: a change wakes nobody.
	HiddenEvent
	// HiddenVersion: it does not, and is not seen either, until there is another
	// one of that object or the cache is read anew.
	HiddenVersion
	// Namesake: an object that was removed and made again is seen as the old one.
	Namesake

	// Shuffled: all lists of the run come in another order.
	Shuffled

	// ReadRefused: the question does not arrive.
	ReadRefused
	// ReadTimeout: it is not answered.
	ReadTimeout
	// ReadInternal: the answer is a 500.
	ReadInternal
	// ReadUnavailable: it is a 503.
	ReadUnavailable
	// ReadUnauthorized: it is a 401.
	ReadUnauthorized
	// ReadHTML: it is a page for people, with the status 200.
	ReadHTML
	// ReadEmpty: it is a list without the items that are there.
	ReadEmpty
)

var modeNames = []string{
	"crash-before", "crash-after", "lost-response", "refused", "409", "422", "429", "late-duplicate",
	"overlap", "stop-before", "stop-after", "stop-lost",
	"lagging-view", "frozen-view", "frozen-children", "time-travel", "spread-view", "spread-back", "old-cache",
	"hidden-event", "hidden-version", "old-namesake", "shuffled-lists",
	"read-refused", "read-timeout", "read-500", "read-503", "read-401", "read-html", "read-empty",
}

// Modes are those in which an effect ends badly.
func Modes() []Mode {
	return []Mode{CrashBefore, CrashAfter, LostResponse, Refused, Conflict, Invalid, TooMany, Late}
}

// Stops are those in which the process is told to end at an effect.
func Stops() []Mode { return []Mode{StopBefore, StopAfter, StopLost} }

// Views are those in which every request is answered well from an effect on, and
// what the operator sees is wrong.
func Views() []Mode {
	return []Mode{Lagging, Frozen, FrozenChildren, Leap, Spread, SpreadBack, OldCache}
}

// Hidden are those in which the operator does not learn of a change.
func Hidden() []Mode { return []Mode{HiddenEvent, HiddenVersion, Namesake} }

// Reads are those in which a question ends badly.
func Reads() []Mode {
	return []Mode{ReadRefused, ReadTimeout, ReadInternal, ReadUnavailable, ReadUnauthorized, ReadHTML, ReadEmpty}
}

// All are all modes.
func All() []Mode {
	return slices.Concat(Modes(), []Mode{Overlap}, Stops(), Views(), Hidden(), []Mode{Shuffled}, Reads())
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

// Excuses tells whether something may be made or deleted once more because of
// it: what was begun before a request failed, a question as well, may have to be
// begun again, such as an integration whose key could not be published. A view
// that is wrong excuses nothing, and neither does an answer that is empty.
func (m Mode) Excuses() bool {
	return m <= StopLost || m == OldCache || m != ReadEmpty && slices.Contains(Reads(), m)
}

// Crashes tells whether the process ends.
func (m Mode) Crashes() bool { return m == CrashBefore || m == CrashAfter }

// Arrives tells whether the request is carried out, sooner or later, although
// nobody hears of it.
func (m Mode) Arrives() bool { return m == CrashAfter || m == LostResponse || m == Late }

// Fault is what goes wrong at one point.
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
