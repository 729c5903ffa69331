package real

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/test/faults"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// engine implements faults.Engine.
type engine struct {
	*faults.Run
	stage  *Stage
	plane  *Plane
	suffix string
	// targets are the states after each step, if they are known; settled are
	// those of this run.
	targets, settled [][]string

	people  client.Client
	tracker *tracker
	passes  *passes
	effects sync.Mutex
	now     *incarnation
	// ahead is by how much the clock is turned on.
	ahead atomic.Int64
	// touch is when something last changed, in nanoseconds.
	touch atomic.Int64
	// looked is when it was last looked whether everything is done.
	looked time.Time
	// turned is how often the clock was turned on since the last step, for what is
	// put off for a while, such as a write that only counts.
	turned int
}

// begin makes the run and starts the operator.
func (e *engine) begin() error {
	var err error
	if e.people, err = clientOf(masked(e.plane.people, e.suffix, nil)); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	e.Run = faults.NewRun(&cluster{e.people}, e.people, e)
	e.Clock = func() time.Time { return time.Now().Add(time.Duration(e.ahead.Load())) }
	e.tracker, e.passes = newTracker(e.Changed), newPasses(e.Failed)
	e.touched(nil, false)
	e.plane.mu.Lock()
	e.plane.runs[e.suffix] = e
	e.plane.mu.Unlock()
	return e.start()
}

// start starts an incarnation of the operator.
func (e *engine) start() error {
	f := &fence{turn: &e.effects, ended: make(chan struct{})}
	config := masked(e.plane.operator, e.suffix, func(body []byte) {
		e.touched(nil, false)
		e.tracker.answered(body)
	})
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &effects{fence: f, injector: e.Injector, kinds: e.plane.kinds, noted: e.Noted, next: next}
	})
	servers := e.Injector.REST(&f.Fence, touching{e, e.Network()})
	var err error
	e.now, err = start(options{
		config: config, fence: f, servers: &toServers{fence: f, reads: e.Network(), writes: servers}, clock: e.Clock, passes: e.passes,
		log: funcr.New(func(prefix, args string) { e.Logged(prefix + " " + args) }, funcr.Options{Verbosity: logged}),
	})
	return err
}

// touched is told of an object that was seen, and of nothing but that something
// changed.
func (e *engine) touched(o *unstructured.Unstructured, gone bool) {
	e.touch.Store(time.Now().UnixNano())
	if o != nil {
		e.tracker.seen(o, gone)
	}
}

// quiet is for how long nothing has changed.
func (e *engine) quiet() time.Duration { return time.Since(time.Unix(0, e.touch.Load())) }

// touching notes that a server is written to. What it refuses changes nothing.
type touching struct {
	engine *engine
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t touching) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil || resp.StatusCode < http.StatusBadRequest {
		t.engine.touched(nil, false)
	}
	return resp, err
}

// Resync implements faults.Engine: it waits until every object was looked at so
// often, or is not looked at any more.
func (e *engine) Resync(times int) error {
	var objects []*unstructured.Unstructured
	for _, o := range e.World.Objects() {
		if strings.HasPrefix(o.GetKind(), "Terdut") {
			objects = append(objects, o)
		}
	}
	begun, begin := map[int]int{}, time.Now()
	for i, o := range objects {
		begun[i], _ = e.passes.of(idOf(o))
	}
	return until(func() (bool, error) {
		for i, o := range objects {
			n, latest := e.passes.of(idOf(o))
			if n-begun[i] < times && time.Since(latest) < silence && time.Since(begin) < time.Duration(times)*silence {
				return false, nil
			}
		}
		return true, nil
	})
}

// Stop implements faults.Engine. The first run of a stage leaves its states for
// the others.
func (e *engine) Stop() error {
	err := errors.Join(e.now.stop(), e.passes.wrong())
	e.plane.mu.Lock()
	delete(e.plane.runs, e.suffix)
	e.plane.mu.Unlock()
	e.stage.mu.Lock()
	if e.stage.targets == nil {
		e.stage.targets = e.settled
	}
	e.stage.mu.Unlock()
	return errors.Join(err, e.clear())
}

// clear removes what the run has left.
func (e *engine) clear() error {
	ctx := context.Background()
	none := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	for _, o := range e.World.Objects() {
		var err error
		switch {
		case o.GetKind() == "Namespace" && o.GetDeletionTimestamp() == nil:
			err = e.people.Delete(ctx, o)
		case len(o.GetFinalizers()) > 0:
			err = e.people.Patch(ctx, o, none)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove %s %s: %w", o.GetKind(), client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}

func idOf(o *unstructured.Unstructured) world.ID {
	return world.ID{Kind: o.GetKind(), NamespacedName: client.ObjectKeyFromObject(o)}
}
