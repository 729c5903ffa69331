package render_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

const name = alone.Name

// world is a namespace with a reference server that answers for it.
type world struct {
	*alone.World
	// passes counts the questions to the server: one in each pass at rest.
	passes atomic.Int64
	// writes counts what the operator has changed, without Events.
	writes atomic.Int64
}

func newWorld(ctx context.Context, labels map[string]string) *world {
	GinkgoHelper()
	w := &world{World: alone.NewWorld(ctx, env, labels)}
	Eventually(func() error {
		return env.Admin.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "default"}, &corev1.ServiceAccount{})
	}).Should(Succeed(), "no pod is admitted before")
	return w
}

// Client implements server.Clients.
func (w *world) Client(ctx context.Context, s *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	w.passes.Add(1)
	return w.World.Client(ctx, s, key)
}

// start starts an operator for the world, which looks again every resync.
func (w *world) start(resync time.Duration) (stop func()) {
	GinkgoHelper()
	end := w.Run(alone.Operator{Resync: resync, Around: w.count, Clients: func(ctrl.Manager) server.Clients { return w }})
	stop = func() { Expect(end()).To(Succeed()) }
	DeferCleanup(stop)
	return stop
}

// count counts the operator's writes.
func (w *world) count(next http.RoundTripper) http.RoundTripper {
	return alone.RoundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && resp.StatusCode < http.StatusBadRequest && req.Method != http.MethodGet && !strings.Contains(req.URL.Path, "/events") {
			w.writes.Add(1)
		}
		return resp, err
	})
}

// create makes the TerdutServer of a world, with an image that is good.
func (w *world) create(ctx context.Context, change func(*v1alpha1.TerdutServer)) {
	GinkgoHelper()
	w.Create(ctx, func(s *v1alpha1.TerdutServer) {
		s.Spec.Image = &v1alpha1.ServerImage{Repository: goodImage}
		if change != nil {
			change(s)
		}
	})
}

// change updates an object of the server's name as somebody else would.
func change[T client.Object](ctx context.Context, w *world, object T, f func(T)) {
	GinkgoHelper()
	alone.Change(ctx, w.World, object, name, f)
}

// get reads an object of the server's name that is there.
func get[T client.Object](ctx context.Context, w *world, object T) T {
	GinkgoHelper()
	return alone.Get(ctx, w.World, object, name)
}

// condition is "status reason: message" of a condition.
func (w *world) condition(ctx context.Context, of string) func() string {
	return func() string {
		is := &v1alpha1.TerdutServer{}
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, is); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(is.Status.Conditions, of)
		if c == nil {
			return "absent"
		}
		return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	}
}
