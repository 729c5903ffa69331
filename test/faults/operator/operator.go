// Package operator runs the operator's own controllers one pass at a time, on a
// client that the caller gives: no goroutine of it starts by itself, and no pass
// begins before the one before it has ended.
//
// It calls controllers.Register, as the process does, with a manager that
// starts nothing. So the controllers are wired as in the process; what does not
// take part are the watches, which a caller has to stand in for.
package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
)

// Options are what an incarnation works with. All but Log are required.
type Options struct {
	// Client reads as a cache does, and writes. Live reads the present.
	Client client.Client
	Live   client.Reader
	// Indexer takes the indices that the client's lists need.
	Indexer client.FieldIndexer
	// Transport is the network towards servers.
	Transport http.RoundTripper
	// Recorder takes the Events.
	Recorder recorder.EventRecorder
	// Resync is the time between two looks at a settled object.
	Resync time.Duration
	// Log takes everything that is logged. The zero value drops it.
	Log logr.Logger
}

// Incarnation is one process of the operator, with what it remembers.
type Incarnation struct {
	controllers map[string]reconcile.Reconciler
	sessions    *connect.Sessions
	servers     *server.Reconciler
	// life ends when the process is told to end.
	life context.Context
	end  context.CancelFunc
	log  logr.Logger
}

// Start makes an incarnation with an empty memory.
func Start(ctx context.Context, o Options) (*Incarnation, error) {
	host := &host{options: o}
	err := controllers.Register(ctx, host, controllers.Options{
		Resync: o.Resync, Transport: o.Transport, Limits: connect.Limits{QPS: 1000, Burst: 1000},
	})
	if err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	i := &Incarnation{controllers: map[string]reconcile.Reconciler{}, log: o.Log}
	for _, r := range host.added {
		switch r := r.(type) {
		case *connect.Sessions:
			i.sessions = r
		case *server.Reconciler:
			i.servers = r
		case controller:
			name, err := nameOf(r)
			if err != nil {
				return nil, err
			}
			i.controllers[name] = r
		}
	}
	i.life, i.end = context.WithCancel(context.WithoutCancel(ctx))
	return i, nil
}

// Reconcile runs one pass over one object of a kind.
func (i *Incarnation) Reconcile(ctx context.Context, kind string, key client.ObjectKey) (reconcile.Result, error) {
	c, ok := i.controllers[strings.ToLower(kind)]
	if !ok {
		return reconcile.Result{}, fmt.Errorf("reconcile %s %s: the operator has no such controller", kind, key)
	}
	// What the queue of a controller does around a pass: give it a logger, and log
	// how it failed.
	log := i.log.WithValues("controller", strings.ToLower(kind), "namespace", key.Namespace, "name", key.Name)
	ctx, cancel := context.WithCancel(logf.IntoContext(ctx, log))
	defer cancel()
	defer context.AfterFunc(i.life, cancel)()
	result, err := c.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	if err != nil {
		log.Error(err, "Reconciler error")
	}
	return result, err
}

// Tell tells the process to end: the pass that runs is cancelled.
func (i *Incarnation) Tell() { i.end() }

// Told tells whether it was told to.
func (i *Incarnation) Told() bool { return i.life.Err() != nil }

// Finish does what the process does at an end that was foreseen, when its last
// pass is over: it writes the keys that are held in memory.
func (i *Incarnation) Finish() error {
	i.end()
	return errors.Join(i.servers.Start(i.life), i.Stop())
}

// Stop ends what the incarnation does by itself, and nothing else: nobody is
// there to write what is held in memory.
func (i *Incarnation) Stop() error {
	i.end()
	return i.sessions.Start(i.life)
}

// controller is a controller of controller-runtime, and nothing else that a
// manager runs.
type controller interface {
	manager.Runnable
	reconcile.Reconciler
	GetLogger() logr.Logger
}

// nameOf reads a controller's name, which it has in a field and tells nobody.
func nameOf(c controller) (string, error) {
	field := reflect.Indirect(reflect.ValueOf(c)).FieldByName("Name")
	if !field.IsValid() {
		return "", errors.New("start the operator: a controller has no field Name any more: find its name in another way")
	}
	return field.String(), nil
}

// host is a manager that starts nothing. What it does not implement nobody
// calls before the start.
type host struct {
	manager.Manager
	options Options
	added   []manager.Runnable
}

// Add implements manager.Manager.
func (h *host) Add(r manager.Runnable) error {
	h.added = append(h.added, r)
	return nil
}

// GetClient implements cluster.Cluster.
func (h *host) GetClient() client.Client { return h.options.Client }

// GetAPIReader implements cluster.Cluster.
func (h *host) GetAPIReader() client.Reader { return h.options.Live }

// GetScheme implements cluster.Cluster.
func (h *host) GetScheme() *runtime.Scheme { return h.options.Client.Scheme() }

// GetRESTMapper implements cluster.Cluster.
func (h *host) GetRESTMapper() meta.RESTMapper { return h.options.Client.RESTMapper() }

// GetFieldIndexer implements cluster.Cluster.
func (h *host) GetFieldIndexer() client.FieldIndexer { return h.options.Indexer }

// GetCache implements cluster.Cluster: only watches would use it.
func (h *host) GetCache() cache.Cache { return nil }

// GetConfig implements cluster.Cluster. Nobody calls this address.
func (h *host) GetConfig() *rest.Config { return &rest.Config{Host: "http://world.invalid"} }

// GetHTTPClient implements cluster.Cluster.
func (h *host) GetHTTPClient() *http.Client { return &http.Client{Transport: nowhere{}} }

// GetEventRecorder implements recorder.Provider.
func (h *host) GetEventRecorder(string) recorder.EventRecorder { return h.options.Recorder }

// GetLogger implements manager.Manager.
func (h *host) GetLogger() logr.Logger { return h.options.Log }

// GetControllerOptions implements manager.Manager. A panic is the caller's to
// see.
func (h *host) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: ptr.To(true), RecoverPanic: ptr.To(false), ReconciliationTimeout: 2 * time.Minute}
}

// nowhere leads nowhere.
type nowhere struct{}

// RoundTrip implements http.RoundTripper.
func (nowhere) RoundTrip(req *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s %s: there is no API server behind the world", req.Method, req.URL.Path)
}
