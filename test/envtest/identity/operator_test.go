package identity_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/event"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

var errFenced = errors.New("cut off by the test")

// operator is one incarnation of the operator, for one namespace.
type operator struct {
	world *world

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

// world is a namespace with a reference server in it.
type world struct {
	// tenant is another namespace that the operator looks at; empty for none.
	tenant    string
	namespace string
	remote    *refserver.Server
	http      *httptest.Server
	// timeout of the operator's calls.
	timeout time.Duration
	// ahead is how far the operator's clock is ahead.
	ahead atomic.Int64
	// sessions reach servers as the operator does in earnest.
	sessions bool
}

// newWorld makes a namespace and the server that answers for every
// TerdutServer in it.
func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	namespace.GenerateName = "identity-"
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	remote, err := refserver.New(refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	w := &world{namespace: namespace.Name, remote: remote, http: httptest.NewServer(remote), timeout: 10 * time.Second}
	DeferCleanup(w.http.Close)
	return w
}

// lacking makes the server one that lacks some of its optional parts.
func (w *world) lacking(names ...string) {
	GinkgoHelper()
	c := refserver.AllCapabilities()
	for _, of := range names {
		Expect(c.TurnOff(of)).To(BeTrue(), of)
	}
	w.remote.SetCapabilities(c)
}

// pass lets time pass, for the operator.
func (w *world) pass(d time.Duration) { w.ahead.Add(int64(d)) }

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// Client implements server.Clients.
func (o *operator) Client(_ context.Context, _ *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	return terdutapi.New(o.world.http.URL, terdutapi.WithAPIKey(key), terdutapi.WithHTTPClient(&http.Client{
		Timeout: o.world.timeout, Transport: o.fence(&http.Transport{DisableKeepAlives: true}),
	}))
}

// Close implements server.Clients.
func (o *operator) Close(types.UID) {}

func (o *operator) Silent(types.UID) bool { return false }

func (o *operator) Changes() <-chan event.GenericEvent { return make(chan event.GenericEvent) }

// fence counts effects and cuts the incarnation off.
func (o *operator) fence(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
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
	o := &operator{world: w}
	access := rest.CopyConfig(operatorConfig)
	access.Wrap(o.fence)
	namespaces := map[string]cache.Config{w.namespace: {}}
	if w.tenant != "" {
		namespaces[w.tenant] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(access, ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{DefaultNamespaces: namespaces, ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy})},
		}},
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		Controller:              config.Controller{SkipNameValidation: ptr.To(true)},
		GracefulShutdownTimeout: ptr.To(time.Duration(0)),
	})
	Expect(err).NotTo(HaveOccurred())
	secrets, err := cluster.New(access, func(options *cluster.Options) {
		options.Scheme = scheme
		options.Cache.DefaultNamespaces = namespaces
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(mgr.Add(secrets)).To(Succeed())

	ctx, cancel := context.WithCancel(context.Background())
	Expect(refs.Index(ctx, mgr.GetFieldIndexer())).To(Succeed())
	reconciler := &server.Reconciler{Clients: o, Resync: resync, Now: w.now}
	if w.sessions {
		reconciler.Clients = connect.New(connect.Options{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), AllowLoopback: true})
	}
	Expect(reconciler.SetupWithManager(mgr, server.Options{Secrets: secrets})).To(Succeed())
	ended := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		if startErr := mgr.Start(ctx); startErr != nil && !o.isFenced() {
			GinkgoWriter.Println("the operator ended:", startErr)
		}
	}()
	o.stop = func() { cancel(); <-ended }
	DeferCleanup(o.stop)
	return o
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

var marker = regexp.MustCompile(`(?m)^// \+kubebuilder:rbac:groups=([^,]*),resources=([^,]*),verbs=(.*)$`)

// markedRules are the rights that the controller's markers ask for.
func markedRules() []rbacv1.PolicyRule {
	GinkgoHelper()
	source, err := os.ReadFile(filepath.Join(controllerDir, "controller.go"))
	Expect(err).NotTo(HaveOccurred())
	var rules []rbacv1.PolicyRule
	for _, match := range marker.FindAllStringSubmatch(string(source), -1) {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{strings.Trim(match[1], `"`)},
			Resources: strings.Split(match[2], ";"),
			Verbs:     strings.Split(match[3], ";"),
		})
	}
	Expect(rules).NotTo(BeEmpty())
	// The indices of all kinds are added together, and an index is a watch.
	return append(rules, rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.SchemeGroupVersion.Group},
		Resources: []string{"terdutescalationrules", "terdutdeadmanswitches", "terdutalertsources"},
		Verbs:     []string{"get", "list", "watch"},
	})
}
