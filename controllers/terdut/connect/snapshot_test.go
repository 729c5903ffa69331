package connect

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
)

func same(i *int64) int64 { return *i }

// source is a server whose list tests hold back.
type source struct {
	sent           atomic.Int64
	arrive, answer chan struct{}
	items          func() []int64
	err            error
}

func newSource(items ...int64) *source {
	return &source{arrive: make(chan struct{}), answer: make(chan struct{}), items: func() []int64 { return items }}
}

// read arrives at the server, and is answered, when the test says so.
func (s *source) read(context.Context) ([]int64, error) {
	s.sent.Add(1)
	items := s.items()
	s.arrive <- struct{}{}
	<-s.answer
	return items, s.err
}

// serve answers every request at once.
func (s *source) serve() {
	for range s.arrive {
		s.answer <- struct{}{}
	}
}

func newShared(read func(context.Context) ([]int64, error), c *clock) *shared[int64] {
	return &shared[int64]{read: read, window: time.Minute, now: c.now}
}

func get(t *testing.T, s *shared[int64], as remote.Freshness) []int64 {
	t.Helper()
	items, err := s.get(context.Background(), as)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// TestOneSnapshotForAll: however many ask, one request is sent in a window.
func TestOneSnapshotForAll(t *testing.T) {
	c, from := newClock(), newSource(1, 2)
	s := newShared(from.read, c)
	go from.serve()
	for window := range int64(3) {
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if items := get(t, s, remote.Snapshot); !slices.Equal(items, []int64{1, 2}) {
					t.Errorf("got %v", items)
				}
			})
		}
		all.Wait()
		if sent := from.sent.Load(); sent != window+1 {
			t.Fatalf("%d requests in %d windows", sent, window+1)
		}
		c.pass(time.Minute)
	}
}

// TestFreshIsSentAfterwards: who asks while a request is on its way does not
// get its answer, but shares the next one with all others who wait.
func TestFreshIsSentAfterwards(t *testing.T) {
	c, from := newClock(), newSource()
	now := []int64{1}
	var mu sync.Mutex
	from.items = func() []int64 { mu.Lock(); defer mu.Unlock(); return slices.Clone(now) }
	s := newShared(from.read, c)
	var first, rest sync.WaitGroup
	first.Go(func() {
		if items := get(t, s, remote.Fresh); !slices.Equal(items, []int64{1}) {
			t.Errorf("the first got %v", items)
		}
	})
	<-from.arrive
	mu.Lock()
	now = []int64{1, 2}
	mu.Unlock()
	var asked atomic.Int64
	for range 20 {
		rest.Go(func() {
			asked.Add(1)
			if items := get(t, s, remote.Fresh); !slices.Equal(items, []int64{1, 2}) {
				t.Errorf("a later one got %v", items)
			}
		})
	}
	for asked.Load() < 20 {
		runtime.Gosched()
	}
	from.answer <- struct{}{}
	first.Wait()
	go from.serve()
	rest.Wait()
	// Those who were slow to ask may need one more.
	if sent := from.sent.Load(); sent > 3 {
		t.Errorf("%d requests for 21 who asked at two times", sent)
	}
}

// TestWriteThrough: after a write of ours the snapshot is what the answer says,
// also where the list was on its way at that moment.
func TestWriteThrough(t *testing.T) {
	c, from := newClock(), newSource(1, 2, 3)
	s := newShared(from.read, c)
	done := make(chan struct{})
	go func() { defer close(done); get(t, s, remote.Snapshot) }()
	<-from.arrive
	s.wrote(nil, put(same, 4))
	s.wrote(nil, without(same, 2))
	from.answer <- struct{}{}
	<-done
	if items := get(t, s, remote.Snapshot); !slices.Equal(items, []int64{1, 3, 4}) {
		t.Errorf("after writes during the request: %v", items)
	}
	before := get(t, s, remote.Snapshot)
	s.wrote(nil, put(same, 5))
	if items := get(t, s, remote.Snapshot); !slices.Equal(items, []int64{1, 3, 4, 5}) || !slices.Equal(before, []int64{1, 3, 4}) {
		t.Errorf("after a write: %v, and what was returned before: %v", items, before)
	}
	if sent := from.sent.Load(); sent != 1 {
		t.Errorf("%d requests", sent)
	}
}

// TestDoubt: a write that was not answered leaves no snapshot, and neither does
// a list that was on its way at that moment.
func TestDoubt(t *testing.T) {
	c, from := newClock(), newSource(1)
	s := newShared(from.read, c)
	done := make(chan struct{})
	go func() { defer close(done); get(t, s, remote.Snapshot) }()
	<-from.arrive
	s.wrote(errors.New("no answer"), nil)
	from.answer <- struct{}{}
	<-done
	if _, ok := s.current(); ok {
		t.Error("a list that the write may have passed is a snapshot")
	}
	go from.serve()
	get(t, s, remote.Snapshot)
	if _, ok := s.current(); !ok {
		t.Error("a later list is none")
	}
	s.wrote(errors.New("no answer"), nil)
	if _, ok := s.current(); ok {
		t.Error("the snapshot outlives a write without an answer")
	}
}

// TestFailedList: an error goes to those who asked and is not kept.
func TestFailedList(t *testing.T) {
	c, from := newClock(), newSource(1)
	s := newShared(from.read, c)
	go from.serve()
	from.err = errors.New("broken")
	if _, err := s.get(context.Background(), remote.Snapshot); !errors.Is(err, from.err) {
		t.Errorf("got %v", err)
	}
	from.err = nil
	if items := get(t, s, remote.Snapshot); !slices.Equal(items, []int64{1}) {
		t.Errorf("got %v", items)
	}
}
