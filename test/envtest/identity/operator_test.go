package identity_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

var errFenced = errors.New("cut off by the test")

// operator is one incarnation of the operator, for one namespace.
type operator struct {
	mu sync.Mutex
	// effects counts the requests that can change something, on both sides,
	// without Events.
	effects int
	// at is the effect at which the incarnation is cut off; 0 is never.
	at int
	// after lets that effect happen, and loses only its answer.
	after  bool
	fenced bool

	stop func()
}

const (
	name            = alone.Name
	credentialsName = name + "-operator-credentials"
	nextName        = credentialsName + "-next"
)

// world is a namespace with a reference server in it.
type world struct {
	*alone.World
	// tenant is another namespace that the operator looks at; empty for none.
	tenant string
	// ahead is how far the operator's clock is ahead.
	ahead atomic.Int64
	// sessions reach servers as the operator does in earnest.
	sessions bool
}

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	return &world{World: alone.NewWorld(ctx, env, nil)}
}

// lacking makes the server one that lacks some of its optional parts.
func (w *world) lacking(names ...string) {
	GinkgoHelper()
	c := refserver.AllCapabilities()
	for _, of := range names {
		Expect(c.TurnOff(of)).To(BeTrue(), of)
	}
	w.Remote.SetCapabilities(c)
}

// pass lets time pass, for the operator.
func (w *world) pass(d time.Duration) { w.ahead.Add(int64(d)) }

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// fencedClients reach the server through the fence of an incarnation.
type fencedClients struct {
	*alone.World
	operator *operator
}

// Client implements server.Clients.
func (c *fencedClients) Client(_ context.Context, _ *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	return c.Through(c.operator.fence(&http.Transport{DisableKeepAlives: true}), key)
}

// fence counts effects and cuts the incarnation off.
func (o *operator) fence(next http.RoundTripper) http.RoundTripper {
	return alone.RoundTripper(func(req *http.Request) (*http.Response, error) {
		write := req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/events")
		o.mu.Lock()
		if write && !o.fenced {
			o.effects++
		}
		last := write && !o.fenced && o.at > 0 && o.effects == o.at
		if o.fenced || last && !o.after {
			o.fenced = true
			o.mu.Unlock()
			return nil, errFenced
		}
		o.mu.Unlock()
		resp, err := next.RoundTrip(req)
		if !last {
			return resp, err
		}
		o.mu.Lock()
		o.fenced = true
		o.mu.Unlock()
		if err == nil {
			err = resp.Body.Close()
		}
		return nil, errors.Join(errFenced, err)
	})
}

// cutAt cuts the incarnation off at its nth effect from now on.
func (o *operator) cutAt(n int, after bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.effects, o.at, o.after = 0, n, after
}

func (o *operator) isFenced() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fenced
}

func (o *operator) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.effects
}

// crash ends the incarnation without a chance to do anything more.
func (o *operator) crash() {
	o.mu.Lock()
	o.fenced = true
	o.mu.Unlock()
	o.stop()
}

// start starts an operator that looks again every resync.
func (w *world) start(resync time.Duration) *operator {
	GinkgoHelper()
	o := &operator{}
	options := alone.Operator{Resync: resync, Around: o.fence, Now: w.now, Abrupt: true, Clients: func(mgr ctrl.Manager) server.Clients {
		if w.sessions {
			return connect.New(connect.Options{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), AllowLoopback: true})
		}
		return &fencedClients{World: w.World, operator: o}
	}}
	if w.tenant != "" {
		options.Tenants = []string{w.tenant}
	}
	stop := w.Run(options)
	o.stop = func() {
		if err := stop(); err != nil && !o.isFenced() {
			GinkgoWriter.Println("the operator ended:", err)
		}
	}
	DeferCleanup(o.stop)
	return o
}
