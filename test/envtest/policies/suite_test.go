package policies_test

import (
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	suite = "policies"
	// resync is long: what happens here happens because something woke the
	// operator, not because it came by.
	resync   = time.Hour
	patience = 60 * time.Second
	// stuckAfter is how long a deletion may hang before it is told to be stuck.
	stuckAfter = 30 * time.Minute
)

var env *steps.Env

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
	steps.Run(t, "what is asked of a resource beside its spec", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suite)).To(Succeed())
	env = steps.Start(ctx)
	runOperator()
})

var _ = AfterEach(func() { env.ExpectNothingForbidden() })
