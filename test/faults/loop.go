package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/operator"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

const (
	// resync is the time between two looks at a settled object.
	resync = 10 * time.Minute
	// horizon is how long everything has to be quiet until it counts as settled.
	horizon = 2 * resync
	// pollsFor is how long an object may ask to be looked at again and again,
	// until it is looked at no more often than that.
	pollsFor = time.Minute
)

// loop runs the operator's controllers one pass at a time on package world. It
// must be used in a bubble of testing/synctest.
type loop struct {
	*Run
	world *world.World

	now   *operator.Incarnation
	fence *inject.Fence
	queue map[world.ID]*turn
	// sight is what the cache shows.
	sight *sight
	// twisted is what went wrong while another incarnation worked.
	twisted error
	// passes are those since the last step, most the most that one took until
	// nothing was written any more.
	passes, most int
}

// turn is when an object is looked at next.
type turn struct {
	// seen is the world's revision after the last pass.
	seen int64
	// at is when the operator asked to come again; zero for never.
	at    time.Time
	fails int
}

// InBubble begins a run in memory, on a clock that only runs when nothing else
// does.
func InBubble() (*Run, error) {
	w, err := world.New()
	if err != nil {
		return nil, err
	}
	l := &loop{world: w, queue: map[world.ID]*turn{}, sight: newSight(w)}
	l.Run = NewRun(w, w.Client(w.Live(), nil), l)
	l.Injector.Twist = l.twist
	w.Watch(l.Changed)
	w.Watch(l.hear)
	return l.Run, l.start()
}

// start starts an incarnation with an empty memory and a cache that shows the
// present.
func (l *loop) start() error {
	fence := &inject.Fence{}
	cached, live := l.view(), l.world.Live()
	cached.Around, live.Around, live.Turn = l.Injector.Cached(fence), l.Injector.Live(fence), l.turn
	one, err := operator.Start(context.Background(), operator.Options{
		Client: l.world.Client(cached, l.Injector.Kubernetes(fence)), Live: live, Indexer: l.world,
		Transport: l.Injector.REST(fence, l.Network()),
		Recorder:  recorder{l.Run}, Resync: resync,
		Log: funcr.New(func(prefix, args string) { l.Logged(prefix + args) }, funcr.Options{Verbosity: 10}),
	})
	if err != nil {
		return err
	}
	fence.Stop = one.Tell
	l.now, l.fence = one, fence
	for _, t := range l.queue {
		*t = turn{seen: -1}
	}
	return nil
}

// inCache tells what the operator's cache holds: of these kinds, what bears its
// label.
func inCache(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "Secret", "Deployment", "Service":
		return o.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy
	}
	return true
}

// asCached is how an object is held: with managedFields only where they are
// compared.
func asCached(o *unstructured.Unstructured) {
	switch o.GetKind() {
	case "Secret", "Deployment", "Service":
	default:
		o.SetManagedFields(nil)
	}
}

// Stop implements Engine.
func (l *loop) Stop() error {
	l.fence.Down = true
	return l.now.Stop()
}

// work does one round of everybody's, and tells whether there was anything to do.
func (l *loop) work() (busy bool, err error) {
	changed, err := l.actors()
	if err != nil {
		return false, err
	}
	ran, err := l.round()
	return changed || ran, err
}

// stirs is what has an effect later, the next of a row of attempts for example: a
// write, a fault, or a new process, which finds out again what the last one knew.
type stirs struct {
	writes  int64
	faults  int
	process *operator.Incarnation
}

func (l *loop) stirs() stirs { return stirs{l.writes(), l.Injector.Left(), l.now} }

// Settle implements Engine: nothing stirs for the horizon.
func (l *loop) Settle() error {
	quiet, seen := time.Now(), l.stirs()
	l.passes = 0
	for range 2000 {
		busy, err := l.work()
		if err != nil {
			return err
		}
		if now := l.stirs(); now != seen {
			quiet, seen = time.Now(), now
			l.most = max(l.most, l.passes)
		}
		if busy || l.Injector.Deliver() || l.catchUp() {
			continue
		}
		if time.Since(quiet) >= horizon && !l.Waits() {
			return nil
		}
		l.rest(time.Since(quiet) > pollsFor)
	}
	return fmt.Errorf("does not settle: quiet for %s, turns %s; the last effects: %s; the last errors: %s",
		time.Since(quiet), l.turns(), strings.Join(last(l.Injector.Effects(), 6), ", "), strings.Join(last(l.errs, 5), "; "))
}

// Calm lets the operator work until nothing has changed for some minutes: more
// than the longest pause after a failure, and less than any grace.
func (l *loop) Calm() error {
	const minutes = 6 * time.Minute
	for quiet, writes := time.Now(), l.writes(); time.Since(quiet) < minutes; {
		busy, err := l.work()
		if err != nil {
			return err
		}
		if l.writes() != writes {
			quiet, writes = time.Now(), l.writes()
		}
		if !busy && !l.Injector.Deliver() && !l.catchUp() {
			l.rest(false)
		}
	}
	return nil
}

// Resync implements Engine.
func (l *loop) Resync(times int) error {
	for end := time.Now().Add(time.Duration(times) * (resync + resync/10)); time.Now().Before(end); {
		if _, err := l.round(); err != nil {
			return err
		}
		l.rest(true)
	}
	return nil
}

// round runs a pass over everything whose turn it is, and tells whether there
// was anything.
func (l *loop) round() (ran bool, err error) {
	for _, id := range l.due() {
		ran = true
		if err := l.pass(id); err != nil {
			return ran, err
		}
	}
	return ran, nil
}

// due are the objects that are to be looked at now: something has changed since
// the last look, or the operator has asked for it. Objects that are gone are
// looked at once more.
func (l *loop) due() []world.ID {
	for _, o := range l.world.Objects(kinds...) {
		id := idOf(o)
		if _, ok := l.queue[id]; !ok {
			l.queue[id] = &turn{seen: -1}
		}
	}
	var out []world.ID
	for id, t := range l.queue {
		if t.seen < l.world.Revision() || !t.at.IsZero() && !t.at.After(time.Now()) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b world.ID) int {
		if a.Kind != b.Kind {
			return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind)
		}
		return strings.Compare(a.String(), b.String())
	})
	return out
}

// pass is one reconcile. After a crash a new incarnation is there.
func (l *loop) pass(id world.ID) error {
	t := l.queue[id]
	one, fence := l.now, l.fence
	l.passes++
	result, err := one.Reconcile(context.Background(), id.Kind, id.NamespacedName)
	if one != l.now {
		fence.Down = true // another one has the lease
		return errors.Join(one.Stop(), l.twisted)
	}
	if one.Told() && !fence.Down {
		if unfinished := one.Finish(); unfinished != nil {
			l.Failed(id, unfinished)
		}
		fence.Down = true
	}
	if fence.Down {
		return errors.Join(one.Stop(), l.start())
	}
	t.seen, t.at = l.world.Revision(), time.Time{}
	if err != nil {
		l.Failed(id, err)
		t.at = time.Now().Add(min(time.Second<<min(t.fails, 10), 5*time.Minute))
		t.fails++
		return nil
	}
	t.fails = 0
	if result.RequeueAfter > 0 {
		t.at = time.Now().Add(result.RequeueAfter)
	}
	return nil
}

// rest lets the clock run to the next turn. Resyncs have a jitter: they are
// taken together, so that their order is the same in every run. Who polls for
// long is looked at less often than it asks for, as by an operator with much to
// do.
func (l *loop) rest(polls bool) {
	wait := resync
	for _, t := range l.queue {
		if !t.at.IsZero() {
			wait = min(wait, time.Until(t.at))
		}
	}
	if polls {
		wait = max(wait, pollsFor)
	}
	if wait > resync/2 {
		wait = resync + resync/10
	}
	time.Sleep(max(wait, time.Millisecond)) //nolint:forbidigo // the clock of a bubble: no time passes
}

// turns says when each object is looked at next.
func (l *loop) turns() string {
	var out []string
	for id, t := range l.queue {
		if !t.at.IsZero() {
			out = append(out, fmt.Sprintf("%s in %s", id, time.Until(t.at)))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
