package load_test

import (
	"io"
	"os"
	"strconv"
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
	suite = "load"
	// full is the size that the figures are of.
	full = 1000
	// resync is short, so that a window can be watched from end to end.
	resync = 6 * time.Second
	// patience is how long anything may take on a slow machine.
	patience = 4 * time.Minute
	poll     = 100 * time.Millisecond
)

var env *testenv.Env

// objects is how many objects the suite makes.
func objects() int {
	if n, err := strconv.Atoi(os.Getenv("LOAD_OBJECTS")); err == nil && n > 0 {
		return n
	}
	return full
}

// ahead is how much the operator's clock is ahead of the real one.
var ahead atomic.Int64

func clock() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }

// start starts the operator. Its limits are far above what it needs here: what
// they do is tested where they live.
func start() func() error {
	GinkgoHelper()
	return startWith(connect.Limits{QPS: 2000, Burst: 4000}, resync)
}

func startWith(limits connect.Limits, window time.Duration) func() error {
	GinkgoHelper()
	stop, err := env.StartOperator(controllers.Options{Resync: window, Clock: clock, Limits: limits})
	Expect(err).NotTo(HaveOccurred())
	return stop
}

// publish publishes a figure of the full size.
func publish(name string, value any, unit string) {
	GinkgoHelper()
	AddReportEntry(name, value)
	if objects() == full {
		Expect(figures.Value(suite, name, value, unit)).To(Succeed())
	}
}

func TestLoad(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "the operator under load", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	// A thousand objects say too much.
	ctrl.SetLogger(zap.New(zap.WriteTo(testenv.Log(io.Discard))))
	Expect(figures.Start(suite)).To(Succeed())
	var err error
	env, err = testenv.Start(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Stop()).To(Succeed()) })
})
