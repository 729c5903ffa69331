package real

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// incarnation is one process of the operator.
type incarnation struct {
	fence  *fence
	cancel context.CancelFunc
	ended  chan error
}

// options are what an incarnation works with.
type options struct {
	config *rest.Config
	fence  *fence
	// servers is the network towards servers.
	servers http.RoundTripper
	clock   func() time.Time
	log     logr.Logger
	passes  *passes
}

// start starts an incarnation with an empty cache.
func start(o options) (*incarnation, error) {
	setup := controllers.ManagerOptions()
	setup.Metrics = metricsserver.Options{BindAddress: "0"}
	setup.Controller.SkipNameValidation = ptr.To(true) // many managers live in one process
	setup.Logger = o.log
	mgr, err := ctrl.NewManager(o.config, setup)
	if err != nil {
		return nil, fmt.Errorf("set up a manager: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = controllers.Register(ctx, &watched{Manager: mgr, passes: o.passes}, controllers.Options{
		Resync: resync, Transport: o.servers, Clock: o.clock,
		Limits: connect.Limits{QPS: 1000, Burst: 1000, Patience: resync},
	})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("set up the operator: %w", err)
	}
	i := &incarnation{fence: o.fence, cancel: cancel, ended: make(chan error, 1)}
	go func() { i.ended <- mgr.Start(ctx) }()
	return i, nil
}

// stop ends the incarnation as a crash does: nothing passes, and then it goes.
func (i *incarnation) stop() error {
	i.fence.down()
	i.cancel()
	if err := <-i.ended; err != nil {
		return fmt.Errorf("run the operator: %w", err)
	}
	return nil
}

// watched is a manager whose controllers are counted at work.
type watched struct {
	manager.Manager
	passes *passes
}

// Add implements manager.Manager.
func (w *watched) Add(r manager.Runnable) error {
	value := reflect.ValueOf(r)
	if value.Kind() == reflect.Pointer && value.Elem().Kind() == reflect.Struct {
		name, do := value.Elem().FieldByName("Name"), value.Elem().FieldByName("Do")
		if next, ok := reconciler(do); ok {
			do.Set(reflect.ValueOf(&counted{next: next, name: name.String(), passes: w.passes}))
			w.passes.controllers++
		}
	}
	return w.Manager.Add(r)
}

func reconciler(field reflect.Value) (reconcile.Reconciler, bool) {
	if !field.IsValid() || !field.CanInterface() {
		return nil, false
	}
	next, ok := field.Interface().(reconcile.Reconciler)
	return next, ok
}

// counted is a reconciler whose passes are counted.
type counted struct {
	next   reconcile.Reconciler
	name   string
	passes *passes
}

// Reconcile implements reconcile.Reconciler.
func (c *counted) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	id := world.ID{Kind: c.name, NamespacedName: req.NamespacedName}
	c.passes.begin()
	defer func() {
		if reason := recover(); reason != nil {
			c.passes.end(id, fmt.Errorf("panic: %v", reason))
			c.passes.panicked(id, reason)
			panic(reason) // the manager's to handle
		}
	}()
	result, err := c.next.Reconcile(ctx, req)
	c.passes.end(id, err)
	return result, err
}

// passes counts the passes of all incarnations of a run, one after the other.
type passes struct {
	controllers int
	failed      func(world.ID, error)

	mu      sync.Mutex
	running int
	done    map[world.ID]int
	latest  map[world.ID]time.Time
	panics  []string
}

func newPasses(failed func(world.ID, error)) *passes {
	return &passes{failed: failed, done: map[world.ID]int{}, latest: map[world.ID]time.Time{}}
}

func (p *passes) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running++
}

func (p *passes) end(id world.ID, err error) {
	p.mu.Lock()
	p.running--
	p.done[id]++
	p.latest[id] = time.Now()
	p.mu.Unlock()
	if err != nil {
		p.failed(id, err)
	}
}

func (p *passes) panicked(id world.ID, reason any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.panics = append(p.panics, fmt.Sprintf("%s: %v", id, reason))
}

// wrong says which passes have panicked.
func (p *passes) wrong() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.panics) == 0 {
		return nil
	}
	return fmt.Errorf("6 clean: panic: %s", strings.Join(p.panics, "; "))
}

// idle tells whether no pass runs.
func (p *passes) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running == 0
}

// of is how many passes over an object have ended, and when the last one did.
// The controllers have the names of their kinds, in lower case.
func (p *passes) of(id world.ID) (int, time.Time) {
	id.Kind = strings.ToLower(id.Kind)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[id], p.latest[id]
}
