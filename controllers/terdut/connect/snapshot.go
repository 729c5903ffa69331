package connect

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
)

// shared is one list of one server, as everybody who asks for it shares it. It
// is owned by its session and safe for concurrent use. What it returns is never
// changed afterwards, and nobody who gets it may change it.
//
// At most one request is on its way. Who asks for a fresh list meanwhile waits
// for the next one, together with all others who do: what is on its way was
// sent before they asked. Who asks for a snapshot takes what comes first.
type shared[V any] struct {
	// read asks the server.
	read func(context.Context) ([]V, error)
	// window is how long a snapshot is good for.
	window time.Duration
	now    func() time.Time

	flights singleflight.Group
	// sending is held while a request is on its way.
	sending sync.Mutex

	mu    sync.Mutex
	items []V
	known bool
	// at is when the request for items was sent.
	at time.Time
	// reading is true while a request is on its way; missed are the changes
	// that its answer may not show.
	reading bool
	missed  []func([]V) []V
	// failing is since when the list cannot be read, as far as that is an
	// outage; zero while it can.
	failing time.Time
	// doubted is true when a write was not answered while a request was on its
	// way: what it answers is no snapshot.
	doubted bool
}

// get returns the list, as fresh as that.
func (s *shared[V]) get(ctx context.Context, as remote.Freshness) ([]V, error) {
	flight, begin := "fresh", func() ([]V, bool) {
		// From here on, who asks has to wait for the next request.
		s.flights.Forget("fresh")
		return nil, false
	}
	if as == remote.Snapshot {
		if items, ok := s.current(); ok {
			return items, nil
		}
		flight, begin = "snapshot", s.current
	}
	answer, err, _ := s.flights.Do(flight, func() (any, error) {
		s.sending.Lock()
		defer s.sending.Unlock()
		if items, ok := begin(); ok {
			return items, nil
		}
		// It serves others too, so it does not end with the pass that began it.
		return s.refresh(context.WithoutCancel(ctx))
	})
	items, ok := answer.([]V)
	if err != nil || !ok {
		return nil, err
	}
	return items, nil
}

// current is the snapshot, if there is one that is good.
func (s *shared[V]) current() ([]V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.items, s.known && s.now().Sub(s.at) < s.window
}

// refresh asks the server and keeps the answer, brought up to date with what
// was written meanwhile.
func (s *shared[V]) refresh(ctx context.Context) ([]V, error) {
	s.mu.Lock()
	s.reading, s.missed, s.doubted = true, nil, false
	at := s.now()
	s.mu.Unlock()
	items, err := s.read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	missed := s.missed
	s.reading, s.missed = false, nil
	if err != nil {
		return nil, err
	}
	s.keep(items, at, missed)
	return items, nil
}

// lasting takes note of how a read ended. A list that fails for long is told of
// as an outage is, also where other calls work and the gate stays open.
func (s *shared[V]) lasting(err error, patience time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var outage *Outage
	if !errors.As(err, &outage) {
		s.failing = time.Time{}
		return err
	}
	now := s.now()
	if s.failing.IsZero() {
		s.failing = now
	}
	outage.Long = outage.Long || now.Sub(s.failing) >= patience
	return err
}

// keep makes a list the snapshot. It holds the lock.
func (s *shared[V]) keep(items []V, at time.Time, missed []func([]V) []V) {
	for _, change := range missed {
		items = change(items)
	}
	s.items, s.known, s.at = items, !s.doubted, at
}

// wrote brings the snapshot up to date with a write of ours. change returns a
// list of its own and leaves the one that it gets as it is. The answer to a
// write that failed proves nothing: then the snapshot goes.
func (s *shared[V]) wrote(err error, change func([]V) []V) {
	if err != nil {
		s.drop()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading {
		s.missed = append(s.missed, change)
	}
	if s.known {
		s.items = change(s.items)
	}
}

// drop forgets the snapshot.
func (s *shared[V]) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items, s.known, s.doubted = nil, false, s.reading
}

// put replaces the item with the same ID, or adds it.
func put[V any](id func(*V) int64, item V) func([]V) []V {
	return func(items []V) []V {
		out := make([]V, 0, len(items)+1)
		for i := range items {
			if id(&items[i]) != id(&item) {
				out = append(out, items[i])
			}
		}
		return append(out, item)
	}
}

// without takes the item with that ID out.
func without[V any](id func(*V) int64, gone int64) func([]V) []V {
	return func(items []V) []V {
		out := make([]V, 0, len(items))
		for i := range items {
			if id(&items[i]) != gone {
				out = append(out, items[i])
			}
		}
		return out
	}
}
