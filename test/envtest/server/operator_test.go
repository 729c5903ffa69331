package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// operator is one incarnation of the operator, for one namespace.
type operator struct {
	// writes counts the successful ones, without Events: a cache that lags
	// behind may cost a 409.
	writes *atomic.Int64
	// broken, while it is set, fails the writes that it matches.
	broken *atomic.Pointer[func(*http.Request) bool]
	stop   func()
}

// world is a namespace with a reference server in it.
type world struct {
	namespace string
	remote    *refserver.Server
	http      *httptest.Server
	// timeout of the operator's calls.
	timeout time.Duration
}

// newWorld makes a namespace and the server that answers for every
// TerdutServer in it.
func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	namespace.GenerateName = "server-"
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	remote, err := refserver.New(refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	w := &world{namespace: namespace.Name, remote: remote, http: httptest.NewServer(remote), timeout: 10 * time.Second}
	DeferCleanup(w.http.Close)
	return w
}

// Client implements server.Clients.
func (w *world) Client(_ context.Context, _ *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	return terdutapi.New(w.http.URL, terdutapi.WithAPIKey(key),
		terdutapi.WithHTTPClient(&http.Client{Timeout: w.timeout, Transport: &http.Transport{DisableKeepAlives: true}}))
}

// Close implements server.Clients.
func (w *world) Close(types.UID) {}

func (w *world) Silent(types.UID) bool { return false }

func (w *world) Changes() <-chan event.GenericEvent { return make(chan event.GenericEvent) }

// start starts an operator that looks again every resync.
func (w *world) start(resync time.Duration) *operator {
	GinkgoHelper()
	o := &operator{writes: &atomic.Int64{}, broken: &atomic.Pointer[func(*http.Request) bool]{}}
	access := rest.CopyConfig(operatorConfig)
	access.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if broken := o.broken.Load(); broken != nil && (*broken)(req) {
				return nil, fmt.Errorf("%s %s: broken by the test", req.Method, req.URL.Path)
			}
			resp, err := next.RoundTrip(req)
			if err == nil && resp.StatusCode < http.StatusBadRequest &&
				req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/events") {
				o.writes.Add(1)
			}
			return resp, err
		})
	})
	namespaces := map[string]cache.Config{w.namespace: {}}
	mgr, err := ctrl.NewManager(access, ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{DefaultNamespaces: namespaces, ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy})},
		}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
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
	reconciler := &server.Reconciler{
		Clients: w,
		Resync:  resync,
	}
	Expect(reconciler.SetupWithManager(mgr, server.Options{Secrets: secrets})).To(Succeed())
	ended := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		Expect(mgr.Start(ctx)).To(Succeed())
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
