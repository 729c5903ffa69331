package badinput_test

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

const (
	suite  = "badinput"
	resync = time.Second
	// callLimit stands for the ten seconds that a call may take.
	callLimit = time.Second
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond
)

var (
	env     *testenv.Env
	network = &proxies{}

	// tried and borne count the bad inputs and those that did no harm.
	tried, borne atomic.Int32
)

func TestBadInput(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "servers that answer badly", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(testenv.Log(GinkgoWriter)), zap.UseDevMode(true)))
	Expect(figures.Start(suite)).To(Succeed())
	var err error
	env, err = testenv.Start(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(env.Stop()).To(Succeed())
		network.close()
	})
	_, err = env.StartOperator(controllers.Options{
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
	Expect(env.Requests.Forbidden()).To(BeEmpty(), "the generated role must allow everything that the operator asks for")
	_, unguarded := env.Requests.StatusWrites()
	Expect(unguarded).To(BeEmpty(), "each status means the object that it was computed from")
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
