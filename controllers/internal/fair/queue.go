// Package fair is the work queue of the controllers: each namespace has its
// own first-in-first-out line, and the lines are served in turn. A namespace in
// which thousands of objects arrive delays an object of another one by a single
// pass, not by all of its own.
//
// Everything but the order (that an item is in work once at a time and never
// lost, delays, rate limits, metrics, shutdown) is client-go's work queue.
package fair

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// NewQueue makes the queue of one controller. It fits controller.Options.
//
// The initial list of a watch has no lower priority here than what changes
// later: a change is behind the rest of its own namespace at most.
func NewQueue(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	lines := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: newLines()})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: lines})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, DelayingQueue: delaying})
}

// lines are the items of each namespace and the order of the namespaces. The
// queue that owns it calls it under its own lock.
type lines struct {
	// waiting holds no empty line.
	waiting map[string]*line
	// turns are the namespaces with a line; the first is served next.
	turns fifo[string]
	total int
}

// line is what waits in one namespace.
type line = fifo[reconcile.Request]

func newLines() *lines { return &lines{waiting: map[string]*line{}} }

// Touch implements workqueue.Queue: an item that waits already keeps its place.
func (*lines) Touch(reconcile.Request) {}

// Push implements workqueue.Queue.
func (l *lines) Push(item reconcile.Request) {
	own, ok := l.waiting[item.Namespace]
	if !ok {
		own = &line{}
		l.waiting[item.Namespace] = own
		l.turns.push(item.Namespace)
	}
	own.push(item)
	l.total++
}

// Len implements workqueue.Queue.
func (l *lines) Len() int { return l.total }

// Pop implements workqueue.Queue. It is not called when Len is 0.
func (l *lines) Pop() reconcile.Request {
	namespace := l.turns.pop()
	own := l.waiting[namespace]
	item := own.pop()
	l.total--
	if own.len() == 0 {
		delete(l.waiting, namespace)
	} else {
		l.turns.push(namespace)
	}
	return item
}

// fifo is a queue of its own; its memory follows what it holds.
type fifo[E any] struct {
	items []E
	// head is the index of the first item; what is before it was popped.
	head int
}

func (f *fifo[E]) len() int { return len(f.items) - f.head }

func (f *fifo[E]) push(e E) { f.items = append(f.items, e) }

func (f *fifo[E]) pop() E {
	var none E
	e := f.items[f.head]
	f.items[f.head] = none
	f.head++
	if f.head*2 >= len(f.items) {
		f.items = append([]E(nil), f.items[f.head:]...)
		f.head = 0
	}
	return e
}
