package fair

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func request(namespace string, n int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}}
}

func newQueue() workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return NewQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Millisecond, time.Millisecond))
}

// TestNeighbour: an object that arrives behind thousands of another namespace
// is next but one.
func TestNeighbour(t *testing.T) {
	q := newQueue()
	defer q.ShutDown()
	for i := range 5000 {
		q.Add(request("crowd", i))
	}
	q.Add(request("one", 0))
	for i := range 2 {
		item, shutdown := q.Get()
		if shutdown {
			t.Fatal("shut down")
		}
		if item.Namespace == "one" {
			return
		}
		if i == 1 {
			t.Fatalf("got %v before the only object of the other namespace", item)
		}
		q.Done(item)
	}
}

// TestTurns: whatever is added in whatever order, between two items of one
// namespace each other namespace that waits is served, and a namespace's own
// items come in their order.
func TestTurns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a reproducible test
	for range 200 {
		l := newLines()
		w := watcher{added: map[string]int{}, served: map[string]int{}, passedOver: map[string]map[string]bool{}}
		for range 400 {
			if random.IntN(2) == 0 {
				namespace := fmt.Sprint(random.IntN(6))
				l.Push(request(namespace, w.added[namespace]))
				w.added[namespace]++
			} else if l.Len() > 0 {
				w.pop(t, l)
			}
		}
		for l.Len() > 0 {
			w.pop(t, l)
		}
		if !maps.Equal(w.added, w.served) || len(l.waiting) != 0 || l.turns.len() != 0 {
			t.Fatalf("added %v, served %v; an empty queue holds %v", w.added, w.served, l)
		}
	}
}

// watcher watches what comes out of a queue.
type watcher struct {
	added, served map[string]int
	// passedOver are those that were served since a namespace that waits was.
	passedOver map[string]map[string]bool
}

func (w *watcher) pop(t *testing.T, l *lines) {
	t.Helper()
	item := l.Pop()
	now := item.Namespace
	if want := request(now, w.served[now]); item != want {
		t.Fatalf("got %v before %v", item, want)
	}
	w.served[now]++
	delete(w.passedOver, now)
	for other := range l.waiting {
		if other == now {
			continue
		}
		if w.passedOver[other] == nil {
			w.passedOver[other] = map[string]bool{}
		}
		if w.passedOver[other][now] {
			t.Fatalf("namespace %s was served twice while %s waited", now, other)
		}
		w.passedOver[other][now] = true
	}
}

// TestOnceAtATime: an item that is added while it is in work comes again after
// it is done, and once.
func TestOnceAtATime(t *testing.T) {
	q := newQueue()
	defer q.ShutDown()
	q.Add(request("a", 0))
	item, _ := q.Get()
	q.Add(item)
	q.Add(item)
	if q.Len() != 0 {
		t.Fatal("an item in work waits at the same time")
	}
	q.Done(item)
	if q.Len() != 1 {
		t.Fatalf("%d items wait", q.Len())
	}
}

// TestShutdown: what waits is still handed out, and then every worker ends.
func TestShutdown(t *testing.T) {
	q := newQueue()
	for i := range 100 {
		q.Add(request(fmt.Sprint(i%7), i))
	}
	var workers sync.WaitGroup
	var mu sync.Mutex
	seen := map[reconcile.Request]bool{}
	for range 4 {
		workers.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				mu.Lock()
				seen[item] = true
				mu.Unlock()
				q.Done(item)
			}
		})
	}
	q.ShutDownWithDrain()
	q.Add(request("late", 0))
	workers.Wait()
	if len(seen) != 100 || !q.ShuttingDown() {
		t.Errorf("%d of 100 items were handed out", len(seen))
	}
}

// TestDelays: what is added for later, or after a failure, comes too.
func TestDelays(t *testing.T) {
	q := newQueue()
	defer q.ShutDown()
	q.AddAfter(request("a", 0), time.Millisecond)
	q.AddRateLimited(request("b", 0))
	seen := map[string]bool{}
	for range 2 {
		item, _ := q.Get()
		seen[item.Namespace] = true
		q.Done(item)
	}
	if !seen["a"] || !seen["b"] || q.NumRequeues(request("b", 0)) != 1 {
		t.Errorf("got %v", seen)
	}
}

// TestMemory: a queue that was long does not stay large.
func TestMemory(t *testing.T) {
	l := newLines()
	for i := range 1000 {
		l.Push(request("a", i))
	}
	for range 1000 {
		l.Pop()
	}
	if cap(l.turns.items) > 1 {
		t.Errorf("an empty queue keeps room for %d namespaces", cap(l.turns.items))
	}
}
