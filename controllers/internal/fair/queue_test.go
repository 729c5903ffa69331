package fair

import (
	"fmt"
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
// namespace each other namespace that waits is served exactly once, and a
// namespace's own items come in their order.
func TestTurns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a reproducible test
	for range 200 {
		l := newLines()
		next, got := map[string]int{}, map[string]int{}
		since := map[string]map[string]int{}
		for step := 0; step < 400 || l.Len() > 0; step++ {
			if step < 400 && random.IntN(2) == 0 {
				namespace := fmt.Sprint(random.IntN(6))
				l.Push(request(namespace, next[namespace]))
				next[namespace]++
				continue
			}
			if l.Len() == 0 {
				continue
			}
			item := l.Pop()
			if want := request(item.Namespace, got[item.Namespace]); item != want {
				t.Fatalf("got %v before %v", item, want)
			}
			got[item.Namespace]++
			for other := range l.waiting {
				if other == item.Namespace {
					continue
				}
				if since[other] == nil {
					since[other] = map[string]int{}
				}
				if since[other][item.Namespace]++; since[other][item.Namespace] > 1 {
					t.Fatalf("namespace %s was served twice while %s waited", item.Namespace, other)
				}
			}
			delete(since, item.Namespace)
		}
		for namespace, n := range next {
			if got[namespace] != n {
				t.Fatalf("%d items of %s came out of %d", got[namespace], namespace, n)
			}
		}
		if len(l.waiting) != 0 || l.turns.len() != 0 {
			t.Fatalf("an empty queue still holds %v", l)
		}
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
