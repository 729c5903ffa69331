package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

const (
	name         = alone.Name
	fieldManager = "terdut-operator"
)

var credentialsName = v1alpha1.CredentialsSecretName(name)

// world is a namespace with a reference server in it.
type world struct{ *alone.World }

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	return &world{alone.NewWorld(ctx, env, nil)}
}

// operator is one incarnation of the operator, for one namespace.
type operator struct {
	// writes counts the successful ones, without Events: a cache that lags
	// behind may cost a 409.
	writes atomic.Int64
	// broken, while it is set, fails the writes that it matches.
	broken atomic.Pointer[func(*http.Request) bool]
	stop   func()
}

// start starts an operator that looks again every resync.
func (w *world) start(resync time.Duration) *operator {
	GinkgoHelper()
	o := &operator{}
	stop := w.Run(alone.Operator{Resync: resync, Around: o.around})
	o.stop = func() { Expect(stop()).To(Succeed()) }
	DeferCleanup(o.stop)
	return o
}

func (o *operator) around(next http.RoundTripper) http.RoundTripper {
	return alone.RoundTripper(func(req *http.Request) (*http.Response, error) {
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
}
