// Package apply_test tries the server-side-apply engine on a real API server: no fake knows managed fields, UIDs and
// resource versions well enough.
package apply_test

import (
	"context"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
)

func TestApply(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "server-side apply", Label("L1"))
}

// engineCase labels the specs of what can happen to a child. They are counted in the figure engine-cases.
var engineCase = Label("engine-case")

var (
	plane *controlplane.ControlPlane
	// admin reads and writes without a cache, as somebody else would.
	admin client.WithWatch
	// cached is the client that the engine has in the operator.
	cached client.Client
	engine *apply.Engine
	// live reads from the API server, like the engine.
	live client.Reader
	// requests are those that the engine's clients made, without watches.
	requests = &counter{}
)

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	plane, err = controlplane.Start(ctx, controlplane.Options{Log: os.Stderr, Controllers: []string{}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	admin, err = client.NewWithWatch(plane.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	counted := rest.CopyConfig(plane.Config)
	counted.Wrap(requests.wrap)
	operator, err := cluster.New(counted, func(o *cluster.Options) {
		o.Scheme = scheme
		o.Client.Cache = &client.CacheOptions{Unstructured: true}
	})
	Expect(err).NotTo(HaveOccurred())
	running, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		defer GinkgoRecover()
		Expect(operator.Start(running)).To(Succeed())
	})
	DeferCleanup(func() { stop(); done.Wait() })
	Expect(operator.GetCache().WaitForCacheSync(ctx)).To(BeTrue())

	cached, live = operator.GetClient(), operator.GetAPIReader()
	engine = apply.New(apply.Options{Client: cached, Live: live, Scheme: scheme, RESTMapper: operator.GetRESTMapper()})
})

// counter counts the requests that pass through it.
type counter struct {
	mu    sync.Mutex
	lines []string
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.URL.Query().Get("watch") == "" {
			c.mu.Lock()
			c.lines = append(c.lines, request.Method+" "+request.URL.Path)
			c.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

// take returns the requests since the last call.
func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = nil
	return lines
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// patience is how long something may take that takes no time on an idle machine.
const patience = 60 * time.Second

// newOwner makes an owner in a namespace of its own.
func newOwner(ctx context.Context) *corev1.ConfigMap {
	GinkgoHelper()
	return ownerIn(ctx, admin)
}

func ownerIn(ctx context.Context, cluster client.Client) *corev1.ConfigMap {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "apply-"}}
	Expect(cluster.Create(ctx, namespace)).To(Succeed())
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "owner"}}
	Expect(cluster.Create(ctx, owner)).To(Succeed())
	return owner
}
