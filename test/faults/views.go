package faults

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

const (
	// behind is how many writes a cache that lags has not seen: more than one
	// pass makes.
	behind = 5
	// farBehind is how many it has not seen when it leaps: about as many as it
	// takes to make a server with everything on it.
	farBehind = 25
	// frozenFor is for how many idle moments a cache stands still.
	frozenFor = 3
)

// children are the kinds that the operator makes of its own.
var children = []string{"Secret", "Service", "Deployment"}

// sight is what the operator's cache shows instead of the present.
type sight struct {
	world *world.World
	// lag is how many revisions all kinds are behind; skew how many more one is.
	lag  int64
	skew map[string]int64
	// frozen holds kinds that are shown as they were at a revision.
	frozen map[string]int64
	// hidden are versions that are not shown.
	hidden map[world.ID]span
	// thaw is how many idle moments more what is frozen and hidden stays so.
	thaw int
	// gone is when an object was last removed.
	gone map[world.ID]int64
	// wrong is true once something was shown that was not the present.
	wrong bool
}

// span are revisions, both ends included.
type span struct{ from, to int64 }

func newSight(w *world.World) *sight {
	return &sight{world: w, skew: map[string]int64{}, frozen: map[string]int64{}, hidden: map[world.ID]span{}, gone: map[world.ID]int64{}}
}

// sees is the revision up to which a kind is shown.
func (s *sight) sees(kind string) int64 {
	if at, ok := s.frozen[kind]; ok {
		return at
	}
	return max(s.world.Revision()-s.lag-s.skew[kind], 0)
}

func (s *sight) hides(id world.ID, revision int64) bool {
	h, ok := s.hidden[id]
	return ok && h.from <= revision && revision <= h.to
}

// twist makes the view wrong.
func (s *sight) twist(m inject.Mode) {
	now := s.world.Revision()
	all := slices.Concat(kinds, children)
	switch m {
	case inject.Lagging, inject.OldCache:
		s.lag = behind
	case inject.Frozen:
		s.freeze(now, frozenFor, kinds)
	case inject.FrozenChildren:
		s.freeze(now, frozenFor, children)
	case inject.Leap:
		s.freeze(max(now-farBehind, 0), 2, all) // until everything has been looked at once
	case inject.Spread, inject.SpreadBack:
		if m == inject.SpreadBack {
			slices.Reverse(all)
		}
		for i, kind := range all {
			s.skew[kind] = int64(i)
		}
	}
}

func (s *sight) freeze(at int64, moments int, kinds []string) {
	s.thaw = moments
	for _, kind := range kinds {
		s.frozen[kind] = at
	}
}

// conceals are the modes that make a difference to a change. Of a resource that
// nobody has heard of only the news can tell; what the cache does not hold it
// cannot hide.
func (s *sight) conceals(c world.Change) (out []inject.Mode) {
	if c.Before != nil || !slices.Contains(kinds, c.Kind) {
		out = append(out, inject.HiddenEvent)
	}
	held := slices.Contains(kinds, c.Kind) || slices.Contains(children, c.Kind) &&
		(c.Before != nil && inCache(c.Before) || c.After != nil && inCache(c.After))
	if held {
		out = append(out, inject.HiddenVersion)
	}
	if held && c.Before == nil && s.gone[c.ID] > 0 {
		out = append(out, inject.Namesake)
	}
	return out
}

// hide keeps a change from being seen.
func (s *sight) hide(m inject.Mode, c world.Change) {
	now := s.world.Revision()
	switch m {
	case inject.HiddenVersion:
		s.hidden[c.ID], s.thaw = span{now, now}, frozenFor
	case inject.Namesake:
		s.hidden[c.ID], s.thaw = span{s.gone[c.ID], math.MaxInt64}, frozenFor
	}
}

// catchUp lets the cache see one write more, or has it read anew, and tells
// whether it was behind.
func (s *sight) catchUp() bool {
	behind := s.lag > 0 || len(s.skew) > 0 || s.thaw > 0
	s.lag = max(s.lag-1, 0)
	for kind, n := range s.skew {
		if s.skew[kind] = n - 1; n <= 1 {
			delete(s.skew, kind)
		}
	}
	if s.thaw = max(s.thaw-1, 0); s.thaw == 0 {
		clear(s.frozen)
		clear(s.hidden)
	}
	return behind
}

// twist makes what the operator sees, or who else acts, wrong.
func (l *loop) twist(m inject.Mode) {
	if m == inject.Overlap {
		l.twisted = l.overlap()
		return
	}
	l.sight.twist(m)
}

// overlap has another incarnation look at everything twice while the one that
// acts waits in the middle of a pass.
func (l *loop) overlap() error {
	if err := l.start(); err != nil {
		return err
	}
	for range 2 {
		if _, err := l.round(); err != nil {
			return err
		}
	}
	l.wake()
	return nil
}

// hear is told of every change, and keeps the news of it from the operator if
// that is what goes wrong: who has seen everything before it is not woken by it.
func (l *loop) hear(c world.Change) {
	now := l.world.Revision()
	if mode, bad := l.Injector.Changed(c.ID.String(), l.sight.conceals(c)...); bad {
		l.sight.hide(mode, c)
		for _, t := range l.queue {
			if t.seen == now-1 {
				t.seen = now
			}
		}
	}
	if c.After == nil {
		l.sight.gone[c.ID] = now
	}
}

// catchUp lets the cache catch up, and wakes everybody for what it sees then.
func (l *loop) catchUp() bool {
	if !l.sight.catchUp() {
		return false
	}
	l.wake()
	return true
}

// wake has everything looked at again.
func (l *loop) wake() {
	for _, t := range l.queue {
		t.seen = -1
	}
}

// view is the cache of the operator.
func (l *loop) view() *world.View {
	v := l.world.Live()
	v.At, v.Hides, v.Filter, v.Shape = l.sight.sees, l.sight.hides, inCache, asCached
	v.Wrong = func(world.ID) { l.sight.wrong = true }
	v.Turn = l.turn
	return v
}

// turn brings a list in another order, if that is what goes wrong.
func (l *loop) turn(items []*unstructured.Unstructured) {
	l.Injector.Shuffle(len(items), func(a, b int) { items[a], items[b] = items[b], items[a] })
}
