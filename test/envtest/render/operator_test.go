package render_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// name of every TerdutServer here, one in each namespace.
const name = "terdut"

// world is a namespace with a reference server that answers for it.
type world struct {
	namespace string
	http      *httptest.Server
	// passes counts the questions to the server: one in each pass at rest.
	passes atomic.Int64
	// writes counts what the operator has changed, without Events.
	writes atomic.Int64
	// forbidden are requests that the role does not allow.
	forbidden atomic.Pointer[string]
}

func newWorld(ctx context.Context, labels map[string]string) *world {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "render-", Labels: labels}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	Eventually(func() error {
		return admin.Get(ctx, client.ObjectKey{Namespace: namespace.Name, Name: "default"}, &corev1.ServiceAccount{})
	}).Should(Succeed(), "no pod is admitted before")
	remote, err := refserver.New(refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	w := &world{namespace: namespace.Name, http: httptest.NewServer(remote)}
	DeferCleanup(w.http.Close)
	return w
}

// Client implements server.Clients.
func (w *world) Client(_ context.Context, _ *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	w.passes.Add(1)
	return terdutapi.New(w.http.URL, terdutapi.WithAPIKey(key),
		terdutapi.WithHTTPClient(&http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}))
}

// Close implements server.Clients.
func (w *world) Close(types.UID) {}

func (w *world) Silent(types.UID) bool { return false }

func (w *world) Changes() <-chan event.GenericEvent { return make(chan event.GenericEvent) }

// start starts an operator for the world, which looks again every resync.
func (w *world) start(resync time.Duration) (stop func()) {
	GinkgoHelper()
	access := rest.CopyConfig(operatorConfig)
	access.Wrap(w.count)
	options := controllers.ManagerOptions()
	options.Scheme = scheme
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	options.Cache.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
	options.Controller.SkipNameValidation = ptr.To(true)
	mgr, err := ctrl.NewManager(access, options)
	Expect(err).NotTo(HaveOccurred())
	secrets, err := cluster.New(access, func(o *cluster.Options) {
		o.Scheme = scheme
		o.Cache.DefaultNamespaces = options.Cache.DefaultNamespaces
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(mgr.Add(secrets)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	Expect(refs.Index(ctx, mgr.GetFieldIndexer())).To(Succeed())
	reconciler := &server.Reconciler{Clients: w, Resync: resync}
	Expect(reconciler.SetupWithManager(mgr, server.Options{Secrets: secrets, KindsPeriod: 500 * time.Millisecond})).To(Succeed())
	ended := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	stop = func() { cancel(); <-ended }
	DeferCleanup(func() {
		stop()
		if refused := w.forbidden.Load(); refused != nil {
			Fail("the role does not allow " + *refused)
		}
	})
	return stop
}

// count counts the operator's writes.
func (w *world) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		what := req.Method + " " + req.URL.Path
		switch {
		case err != nil:
		case resp.StatusCode == http.StatusForbidden:
			if byRole.Match(peek(resp)) {
				w.forbidden.Store(&what)
			}
		case resp.StatusCode < http.StatusBadRequest && req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/events"):
			w.writes.Add(1)
		}
		return resp, err
	})
}

// byRole tells a refusal for want of rights from one of an admission plugin: in
// the moment in which a kind arrives, one of them cannot find the owner's kind.
var byRole = regexp.MustCompile(`cannot \w+ resource `)

// peek reads a body and leaves it there.
func peek(resp *http.Response) []byte {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		body = []byte(err.Error())
	}
	_ = resp.Body.Close() // read to its end
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// create makes the TerdutServer of a world.
func (w *world) create(ctx context.Context, change func(*v1alpha1.TerdutServer)) {
	GinkgoHelper()
	made := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	made.Spec.Image = &v1alpha1.ServerImage{Repository: goodImage}
	made.Spec.Database.DSN = "postgres://terdut@db:5432/terdut?sslmode=require"
	if change != nil {
		change(made)
	}
	Expect(admin.Create(ctx, made)).To(Succeed())
}

// change updates an object as somebody else would, and tries again when
// somebody was faster.
func change[T client.Object](ctx context.Context, w *world, object T, f func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, object); err != nil {
			return err
		}
		f(object)
		return admin.Update(ctx, object, client.FieldOwner("kubectl-edit"))
	}).Should(Succeed())
}

// get reads an object that is there.
func get[T client.Object](ctx context.Context, w *world, object T) T {
	GinkgoHelper()
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, object)).To(Succeed())
	return object
}

// condition is "status reason: message" of a condition.
func (w *world) condition(ctx context.Context, of string) func() string {
	return func() string {
		is := &v1alpha1.TerdutServer{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, is); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(is.Status.Conditions, of)
		if c == nil {
			return "absent"
		}
		return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	}
}

func (w *world) ready(ctx context.Context) {
	GinkgoHelper()
	Eventually(w.condition(ctx, v1alpha1.ConditionReady)).Should(HavePrefix("True Ready"))
}

// events are "type reason: note" of all Events about the server.
func (w *world) events(ctx context.Context) func() []string {
	return func() []string {
		list := &eventsv1.EventList{}
		if err := admin.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return []string{err.Error()}
		}
		var out []string
		for _, e := range list.Items {
			if e.Regarding.Kind == "TerdutServer" {
				out = append(out, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Note))
			}
		}
		return out
	}
}
