package transitions_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// still is how long a world that is not as it should be may show no sign of life
// until it counts as being at rest. It is longer than the operator's pauses
// between the first few tries; who is as it should be does not wait for it.
const still = 30 * time.Second

const (
	// afterglow is how much may be written to a world after it was last seen at
	// rest: what the operator gathers for a while, such as the number of teams.
	afterglow = 4
	// mostWrites is how much may be written for one change.
	mostWrites = 30
)

// news counts, for each namespace, what the watches have shown of it.
var news sync.Map

// noticed is called with every object that a watch shows in some way.
func noticed(object any) {
	if last, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = last.Obj
	}
	if o, is := object.(client.Object); is {
		newsOf(o.GetNamespace()).Add(1)
	}
}

func newsOf(namespace string) *atomic.Int64 {
	count, _ := news.LoadOrStore(namespace, &atomic.Int64{})
	return count.(*atomic.Int64)
}

// seenOf is the number of what the watches have shown of a world.
func (w *world) seenOf() int64 { return newsOf(w.platform).Load() + newsOf(w.tenant).Load() }

// writes are what the operator has written so far, to the API server and to the
// server of this world.
func (w *world) writes() int { return env.Requests.WritesIn(w.platform, w.tenant) + w.peer.Writes() }

// life is another number after each sign of life in some of the worlds.
func life(worlds ...*world) int64 {
	var sum int64
	for _, w := range worlds {
		sum += w.seenOf() + int64(w.writes())
	}
	return sum
}

// errAtRest ends a wait for what does not come.
var errAtRest = errors.New("at rest, and not as it should be")

// until waits until nothing is wrong any more, and tells what was wrong last. It
// gives up when these worlds are at rest.
func until(ctx context.Context, wrong func() string, worlds ...*world) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("waited in vain"))
	defer cancel()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	last, since := int64(-1), time.Now()
	for {
		open := wrong()
		if open == "" {
			return nil
		}
		if now := life(worlds...); len(worlds) == 0 || now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > still {
			return fmt.Errorf("%w: %s", errAtRest, open)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), open)
		}
	}
}

// starting is how long two that do not run yet have to agree.
const starting = 5 * time.Second

// same waits until two worlds show the same at two looks, with no sign of life in
// between. Two that are being made look alike, and are given longer.
func same(ctx context.Context, got, want *world) error {
	agreed, since := int64(-1), time.Now()
	return until(ctx, func() string {
		now := life(got, want)
		if d := differ(ctx, got, want); d != "" {
			agreed = -1
			return d
		}
		if agreed != now {
			agreed, since = now, time.Now()
			return "they agree, and were not at rest yet"
		}
		if open := want.starts(ctx); open != "" && time.Since(since) < starting {
			return open
		}
		// Again each time: two that begin together may agree before they are done.
		want.view.rested.Store(int64(want.writes()) + 1)
		return ""
	}, got, want)
}

// restless are the worlds in which nothing was changed, and that were written to
// after they had come to rest.
func (f *fresh) restless() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for what, made := range f.known {
		w, err := made()
		if err != nil || w.view.rested.Load() == 0 {
			continue
		}
		if more := int64(w.writes()) + 1 - w.view.rested.Load(); more > afterglow {
			all = append(all, fmt.Sprintf("%d writes to what is at rest: %s", more, what))
		}
	}
	return all
}
