package faults

import "git.ryuvia.com/niklas/terdut-operator/test/faults/inject"

const (
	// behind is how many writes a cache that lags has not seen: more than one
	// pass makes.
	behind = 5
	// frozenFor is for how many idle moments a cache stands still.
	frozenFor = 3
)

// twist makes what the operator sees, or who else acts, wrong.
func (l *loop) twist(m inject.Mode) {
	switch m {
	case inject.Lagging, inject.OldCache:
		l.lag = behind
	case inject.Frozen:
		l.thaw = frozenFor
		for _, kind := range kinds {
			l.frozen[kind] = l.world.Revision()
		}
	case inject.Overlap:
		l.twisted = l.overlap()
	}
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
	for _, t := range l.queue {
		t.seen = -1
	}
	return nil
}

// catchUp lets the cache see one write more, or ends a freeze, and tells whether
// it was behind.
func (l *loop) catchUp() bool {
	switch {
	case l.lag > 0:
		l.lag--
	case l.thaw > 1:
		l.thaw--
	case l.thaw == 1:
		l.thaw = 0
		clear(l.frozen)
	default:
		return false
	}
	for _, t := range l.queue {
		t.seen = -1
	}
	return true
}
