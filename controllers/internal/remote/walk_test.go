package remote

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// mode is how a call can end badly.
type mode int

const (
	crashBefore mode = iota // the process ends before the call
	crashAfter              // it ends after it: the memory of the pass is lost
	answerLost              // the call works, its answer does not arrive
	refused                 // the call does not work
	modes
)

func (m mode) String() string {
	return [...]string{"crash before", "crash after", "answer lost", "refused"}[m]
}

type crash struct{}

// pairWithin is how far apart, in calls, the two interruptions of a pair are;
// with FULL=1 in the environment there is no limit. The walk runs on one
// goroutine: under the race detector, which makes it slow and large, the single
// interruptions have to do.
func pairWithin() int {
	switch {
	case os.Getenv("FULL") != "":
		return math.MaxInt / 2
	case raceDetector:
		return 0
	default:
		return 4
	}
}

// cut is one bad ending: of the n-th call from the start.
type cut struct {
	n int
	mode
}

// suffer makes the world's calls end badly as the cuts say, and counts calls.
func (w *world) suffer(calls *int, cuts ...cut) {
	w.touch = func(what string, do func() error) error {
		*calls++
		if w.always != nil && w.broken == nil {
			w.broken = w.always(w)
		}
		i := slices.IndexFunc(cuts, func(c cut) bool { return c.n == *calls })
		if i < 0 {
			return do()
		}
		silence := outcome.Unknown(synced, "ServerUnreachable", "no answer")
		switch cuts[i].mode {
		case crashBefore:
			panic(crash{})
		case crashAfter:
			_ = do()
			panic(crash{})
		case answerLost:
			_ = do()
			return silence
		default:
			return silence
		}
	}
}

// survive settles the world; a crash starts the operator anew.
func (w *world) survive() (err error) {
	for range 4 {
		crashed := false
		func() {
			defer func() {
				switch reason := recover(); reason {
				case nil:
				case crash{}:
					crashed = true
				default:
					panic(reason)
				}
			}()
			err = w.settle()
		}()
		if !crashed && err == nil {
			return nil
		}
	}
	return err
}

// begin brings a world to where the scenario begins.
func (s scenario) begin(w *world) error {
	if s.before != nil {
		s.before(w)
		if len(w.log) == 0 { // not stopped half-way on purpose
			if err := w.settle(); err != nil {
				return err
			}
		}
	}
	s.change(w)
	w.log, w.always = nil, s.always
	return nil
}

// run plays a scenario with cuts and returns how many calls it took.
func (s scenario) run(cuts ...cut) (calls int, err error) {
	w := newWorld(s.naming, s.keyed)
	if err = s.begin(w); err != nil {
		return 0, err
	}
	w.suffer(&calls, cuts...)
	// A silence ends a pass without a trace, and a pass without a trace looks
	// settled: so more than once, and the last ones after the grace.
	for i := range 4 {
		if i == 2 {
			w.now = w.now.Add(2 * testGrace)
		}
		if err = w.survive(); err != nil {
			return calls, err
		}
	}
	if err = errors.Join(w.broken, s.check(w)); err != nil {
		return calls, fmt.Errorf("%w; log %v", err, w.log)
	}
	return calls, nil
}

// TestEveryInterruption cuts every scenario at every call in every way, and in
// every pair of ways: it always ends as if nothing had happened.
func TestEveryInterruption(t *testing.T) {
	total, within := 0, pairWithin()
	for _, s := range scenarios() {
		calls, err := s.run()
		if err != nil {
			t.Errorf("%s, undisturbed: %v", s.name, err)
			continue
		}
		cuts := []cut{}
		for n := range calls + 2 {
			for m := range modes {
				cuts = append(cuts, cut{n + 1, m})
			}
		}
		for i, first := range cuts {
			for _, second := range cuts[i:] {
				if second.n > first.n+within {
					break
				}
				total++
				if _, err := s.run(first, second); err != nil {
					t.Errorf("%s, %v at call %d, %v at call %d: %v", s.name, first.mode, first.n, second.mode, second.n, err)
					return
				}
			}
		}
	}
	t.Logf("%d runs over %d scenarios", total, len(scenarios()))
}
