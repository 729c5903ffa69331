package policies_test

import (
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

const (
	suite = "policies"
	// resync is long: what happens here happens because something woke the
	// operator, not because it came by.
	resync   = time.Hour
	patience = 60 * time.Second
	// stuckAfter is how long a deletion may hang before it is told to be stuck.
	stuckAfter = 30 * time.Minute
	poll       = 50 * time.Millisecond
)

var env *testenv.Env

// clock is the operator's.
var clock drivenClock

// drivenClock goes with the real one, and is put forward by hand.
type drivenClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *drivenClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *drivenClock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

func TestPolicies(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "what is asked of a resource beside its spec", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(testenv.Log(GinkgoWriter)), zap.UseDevMode(true)))
	Expect(figures.Start(suite)).To(Succeed())
	var err error
	env, err = testenv.Start(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Stop()).To(Succeed()) })
	runOperator()
})

var _ = AfterEach(func() {
	Expect(env.Requests.Forbidden()).To(BeEmpty(), "the generated role must allow everything that the operator asks for")
})
