// Package alone runs the controller of TerdutServers by itself, in a namespace
// of its own, against a reference server that answers for every TerdutServer in
// it. Its steps fail the spec that runs.
package alone

import (
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// World is a namespace with a reference server in it.
type World struct {
	Namespace string
	Remote    *refserver.Server
	// HTTP serves Remote. Who exchanges it closes both.
	HTTP *httptest.Server
	// Timeout is that of the operator's calls.
	Timeout time.Duration

	env *steps.Env
}

// NewWorld makes a namespace with those labels, and the server that answers for
// every TerdutServer in it until the spec ends.
func NewWorld(ctx context.Context, env *steps.Env, labels map[string]string) *World {
	ginkgo.GinkgoHelper()
	namespace := env.NewNamespace(ctx, "server", labels)
	peer, err := env.Network.Serve(namespace, Name, refserver.Options{})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	w := &World{Namespace: namespace, Remote: peer.Server, HTTP: httptest.NewServer(peer.Server), Timeout: 10 * time.Second, env: env}
	ginkgo.DeferCleanup(w.HTTP.Close)
	return w
}

// Client implements server.Clients.
func (w *World) Client(_ context.Context, _ *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	return w.Through(&http.Transport{DisableKeepAlives: true}, key)
}

// Through is a client that reaches the reference server through a transport.
func (w *World) Through(transport http.RoundTripper, key string) (*terdutapi.Client, error) {
	return terdutapi.New(w.HTTP.URL, terdutapi.WithAPIKey(key),
		terdutapi.WithHTTPClient(&http.Client{Timeout: w.Timeout, Transport: transport}))
}

// Close implements server.Clients.
func (w *World) Close(types.UID) {}

// Silent implements server.Clients.
func (w *World) Silent(types.UID) bool { return false }

// Changes implements server.Clients.
func (w *World) Changes() <-chan event.GenericEvent { return make(chan event.GenericEvent) }

// Operator says how an incarnation of the operator runs.
type Operator struct {
	// Resync is the time between two looks at a settled server.
	Resync time.Duration
	// Around is what its requests to the API server go through; nil means
	// nothing.
	Around func(http.RoundTripper) http.RoundTripper
	// Clients reach servers; nil means the World.
	Clients func(ctrl.Manager) server.Clients
	// Tenants are further namespaces that it looks at.
	Tenants []string
	// Now is its clock; nil means the time.
	Now func() time.Time
	// Abrupt ends it without waiting for what it still does.
	Abrupt bool
}

// Run runs an operator until the spec ends, or the function that it returns is
// called. What that returns is why the operator ended.
func (w *World) Run(o Operator) (stop func() error) {
	ginkgo.GinkgoHelper()
	access := w.env.Operator()
	if o.Around != nil {
		access.Wrap(o.Around)
	}
	options := controllers.ManagerOptions(append(o.Tenants, w.Namespace)...)
	if o.Abrupt {
		options.GracefulShutdownTimeout = ptr.To(time.Duration(0))
	}
	stop, err := testenv.StartManager(access, options, func(ctx context.Context, mgr ctrl.Manager) error {
		secrets, err := cluster.New(access, func(c *cluster.Options) {
			c.Scheme, c.Cache.DefaultNamespaces = options.Scheme, options.Cache.DefaultNamespaces
		})
		if err != nil {
			return err
		}
		if err := mgr.Add(secrets); err != nil {
			return err
		}
		if err := refs.Index(ctx, mgr.GetFieldIndexer()); err != nil {
			return err
		}
		reconciler := &server.Reconciler{Clients: w, Resync: o.Resync, Now: o.Now}
		if o.Clients != nil {
			reconciler.Clients = o.Clients(mgr)
		}
		return reconciler.SetupWithManager(mgr, server.Options{Secrets: secrets, KindsPeriod: kindsPeriod})
	})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() { _ = stop() }) // whoever wants to know why it ended has asked
	return stop
}

// kindsPeriod is short, a minute in earnest.
const kindsPeriod = 500 * time.Millisecond

// RoundTripper is a function that is a http.RoundTripper.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
