package apply_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/optional"
)

// heard is a list that many write.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) add(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
}

func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	h.lines = nil
	return lines
}

// Write takes a line of a log, and keeps it if it is an error.
func (h *heard) Write(line []byte) (int, error) {
	if strings.Contains(string(line), `"level":"error"`) {
		h.add(string(line))
	}
	return len(line), nil
}

var _ = Describe("an optional kind", Serial, func() {
	gvk := schema.GroupVersionKind{Group: "late.test", Version: "v1", Kind: "Monitor"}
	wanter := types.NamespacedName{Namespace: "default", Name: "wanter"}
	var (
		reconciled, failures, questions, absences *heard
		clock                                     *clocktesting.FakeClock
		kinds                                     *optional.Kinds
	)

	BeforeEach(func() {
		reconciled, failures, questions, absences = &heard{}, &heard{}, &heard{}, &heard{}
		clock = clocktesting.NewFakeClock(time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC))
		logger := zap.New(zap.WriteTo(failures))
		logf.SetLogger(logger)
		handlers := utilruntime.ErrorHandlers
		DeferCleanup(func() { utilruntime.ErrorHandlers = handlers })
		utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, message string, _ ...any) {
			failures.add(fmt.Sprintf("%s: %v", message, err))
		}}

		watching := rest.CopyConfig(plane.Config)
		watching.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(request)
				if err == nil && response.StatusCode == http.StatusNotFound && strings.HasPrefix(request.URL.Path, "/apis/late.test/v1/") {
					absences.add(request.URL.Path)
				}
				return response, err
			})
		})
		mgr, err := ctrl.NewManager(watching, ctrl.Options{
			Scheme: admin.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logger,
			Cache: cache.Options{DefaultWatchErrorHandler: optional.WatchErrorHandler},
		})
		Expect(err).NotTo(HaveOccurred())
		asking := rest.CopyConfig(plane.Config)
		asking.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				questions.add(request.URL.Path)
				return next.RoundTrip(request)
			})
		})
		disco, err := discovery.NewDiscoveryClientForConfig(asking)
		Expect(err).NotTo(HaveOccurred())
		kinds = optional.New(optional.Options{Discovery: disco, Cache: mgr.GetCache(), Clock: clock})
		late, err := controller.New("late", mgr, controller.Options{
			SkipNameValidation: ptr.To(true),
			Reconciler: reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
				reconciled.add(request.Name)
				return reconcile.Result{}, nil
			}),
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(kinds.Watch(late, gvk, &handler.EnqueueRequestForObject{})).To(Succeed())
		Expect(mgr.Add(kinds)).To(Succeed())
		running, stop := context.WithCancel(context.Background())
		var done sync.WaitGroup
		done.Go(func() {
			defer GinkgoRecover()
			Expect(mgr.Start(running)).To(Succeed())
		})
		DeferCleanup(func() { stop(); done.Wait() })
		Eventually(clock.HasWaiters).WithTimeout(patience).Should(BeTrue())
	})

	crd := func() *unstructured.Unstructured {
		GinkgoHelper()
		object := &unstructured.Unstructured{}
		Expect(object.UnmarshalJSON([]byte(strings.ReplaceAll(monitorCRD, "apply.test", "late.test")))).To(Succeed())
		return object
	}
	monitor := func(name string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		object.SetNamespace("default")
		object.SetName(name)
		return object
	}
	// minutes lets time pass until the kind is served, or not.
	minutes := func(served bool) {
		GinkgoHelper()
		Eventually(func() bool {
			clock.Step(time.Minute)
			return kinds.Served(gvk)
		}).WithTimeout(patience).Should(Equal(served))
		Eventually(reconciled.take).WithTimeout(patience).Should(ContainElement(wanter.Name))
	}
	hears := func(ctx context.Context, name string) {
		GinkgoHelper()
		Expect(admin.Create(ctx, monitor(name))).To(Succeed())
		Eventually(reconciled.take).WithTimeout(patience).Should(ContainElement(name))
	}
	remove := func(ctx context.Context) {
		GinkgoHelper()
		absences.take()
		Expect(admin.Delete(ctx, crd())).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(crd()), crd()))
		}).WithTimeout(patience).Should(BeTrue())
	}

	It("is watched when it is there, gone, and there again", func(ctx SpecContext) {
		By("asking nothing while nobody wants it")
		clock.Step(time.Minute)
		Consistently(questions.take).WithTimeout(300 * time.Millisecond).Should(BeEmpty())

		By("asking at once and then each minute while somebody does")
		kinds.Want(wanter, gvk)
		for range 3 {
			Eventually(questions.take).WithTimeout(patience).Should(Equal([]string{"/apis/late.test/v1"}))
			Expect(kinds.Served(gvk)).To(BeFalse())
			clock.Step(time.Minute)
		}
		Eventually(questions.take).WithTimeout(patience).ShouldNot(BeEmpty())

		var settled []gleak.Goroutine
		for round, name := range []string{"first", "second", "third"} {
			Expect(admin.Create(ctx, crd())).To(Succeed())
			minutes(true)
			hears(ctx, name)
			remove(ctx)
			// The informer notices before the next look does.
			Eventually(absences.take).WithTimeout(patience).ShouldNot(BeEmpty())
			minutes(false)
			if round == 0 {
				settled = gleak.Goroutines()
			}
		}
		Eventually(gleak.Goroutines).WithTimeout(patience).ShouldNot(gleak.HaveLeaked(settled))

		By("forgetting it when nobody wants it any more")
		Expect(admin.Create(ctx, crd())).To(Succeed())
		minutes(true)
		kinds.Want(wanter)
		Eventually(func() bool {
			clock.Step(time.Minute)
			return kinds.Served(gvk)
		}).WithTimeout(patience).Should(BeFalse())
		questions.take()
		clock.Step(time.Minute)
		Consistently(questions.take).WithTimeout(300 * time.Millisecond).Should(BeEmpty())
		remove(ctx)

		Expect(failures.take()).To(BeEmpty())
	})
})
