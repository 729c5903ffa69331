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
func (r *Run) twist(m inject.Mode) {
	switch m {
	case inject.Lagging, inject.OldCache:
		r.lag = behind
	case inject.Frozen:
		r.thaw = frozenFor
		for _, kind := range kinds {
			r.frozen[kind] = r.World.Revision()
		}
	case inject.Overlap:
		r.twisted = r.overlap()
	}
}

// overlap has another incarnation look at everything twice while the one that
// acts waits in the middle of a pass.
func (r *Run) overlap() error {
	if err := r.start(); err != nil {
		return err
	}
	for range 2 {
		if _, err := r.round(); err != nil {
			return err
		}
	}
	for _, t := range r.queue {
		t.seen = -1
	}
	return nil
}

// catchUp lets the cache see one write more, or ends a freeze, and tells whether
// it was behind.
func (r *Run) catchUp() bool {
	switch {
	case r.lag > 0:
		r.lag--
	case r.thaw > 1:
		r.thaw--
	case r.thaw == 1:
		r.thaw = 0
		clear(r.frozen)
	default:
		return false
	}
	for _, t := range r.queue {
		t.seen = -1
	}
	return true
}
