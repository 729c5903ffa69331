package badinput_test

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
	suite  = "badinput"
	resync = time.Second
	// callLimit stands for the ten seconds that a call may take.
	callLimit = time.Second
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 60 * time.Second
)

var (
	env     *steps.Env
	network = &proxies{}

	// tried and borne count the bad inputs and those that did no harm.
	tried, borne atomic.Int32
)

func TestBadInput(t *testing.T) {
	steps.Run(t, "servers that answer badly", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suite)).To(Succeed())
	DeferCleanup(network.close) // after the operator has ended
	env = steps.Start(ctx)
	_, err := env.StartOperator(controllers.Options{
		Resync: resync, Transport: network.transport(),
		Limits: connect.Limits{Patience: resync, Call: callLimit, QPS: 1000, Burst: 1000},
	})
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterSuite(func() {
	if n := int(tried.Load()); n > 0 {
		Expect(figures.Count(suite, "bad-inputs", int(borne.Load()), n)).To(Succeed())
	}
})

var _ = AfterEach(func() {
	env.ExpectNothingForbidden()
	env.ExpectGuardedStatuses()
})

// counted counts a bad input that is tried, and as borne when the function that
// it returns is run in the end, unless that is because of a failure.
func counted() func() {
	tried.Add(1)
	return func() {
		if reason := recover(); reason != nil {
			panic(reason)
		}
		borne.Add(1)
	}
}
