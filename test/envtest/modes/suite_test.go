package modes_test

import (
	"os"
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
	suite = "modes"
	// resync is short: what only a resync can find shows within seconds.
	resync = time.Second
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 30 * time.Second
	poll     = 50 * time.Millisecond
)

var env *testenv.Env

func TestModes(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "what the namespaces of teams get", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(testenv.Log(GinkgoWriter)), zap.UseDevMode(true)))
	Expect(figures.Start(suite)).To(Succeed())
	var err error
	env, err = testenv.Start(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Stop()).To(Succeed()) })
	Expect(env.RunOperator(resync)).To(Succeed())
})

var _ = AfterEach(func() {
	Expect(env.Requests.Forbidden()).To(BeEmpty(), "the generated role must allow everything that the operator asks for")
})
