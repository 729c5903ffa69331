package rotation_test

import (
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	suite = "rotation"
	// resync is short: what only a resync can find shows within seconds.
	resync = time.Second
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = time.Minute
	// grace is that of a source which names none.
	grace = time.Hour
)

var (
	env *steps.Env
	// ahead is how far the operator's clock is ahead, in nanoseconds.
	ahead atomic.Int64
	// stop ends the operator that runs.
	stop func() error
)

func TestRotation(t *testing.T) {
	steps.Run(t, "changes of what lives on a server", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suite)).To(Succeed())
	env = steps.Start(ctx)
	startOperator()
})

var _ = AfterEach(func() { env.ExpectNothingForbidden() })

// startOperator starts an incarnation with an empty cache.
func startOperator() {
	GinkgoHelper()
	var err error
	stop, err = env.StartOperator(controllers.Options{
		Resync: resync, Clock: now, Limits: connect.Limits{QPS: 1000, Burst: 1000}, // many teams, looked at every second
	})
	Expect(err).NotTo(HaveOccurred())
}

// now is the operator's clock.
func now() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }

// pass lets time pass for the operator.
func pass(d time.Duration) { ahead.Add(int64(d)) }
