// Package steps are the steps in which specs on the real API server are
// written: create, change, wait until it is Ready. Each works on the cluster of a
// testenv.Env and fails the spec when it cannot be done, with what the objects
// say for themselves.
package steps

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// poll is the pause between two looks.
const poll = 50 * time.Millisecond

// Env is a testenv.Env whose steps fail the spec that runs.
type Env struct{ *testenv.Env }

// Run runs the specs of a suite. patience is how long something may take that
// takes no time on an idle machine, where a spec does not say otherwise.
func Run(t *testing.T, description string, patience time.Duration) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(poll)
	ginkgo.RunSpecs(t, description, ginkgo.Label("L1"))
}

// Start starts the Env of a suite, and stops it at its end. The operator does
// not run yet; what it logs is shown with the spec that fails.
func Start(ctx context.Context) *Env {
	ginkgo.GinkgoHelper()
	return start(ctx, testenv.Start)
}

// StartUnbound is Start, and the operator may do nothing yet.
func StartUnbound(ctx context.Context) *Env {
	ginkgo.GinkgoHelper()
	return start(ctx, testenv.StartUnbound)
}

// StartWith is StartUnbound with those controllers of kube-controller-manager,
// and without Rollouts.
func StartWith(ctx context.Context, kube []string) *Env {
	ginkgo.GinkgoHelper()
	return start(ctx, func(ctx context.Context, log io.Writer) (*testenv.Env, error) {
		return testenv.StartWith(ctx, log, kube)
	})
}

func start(ctx context.Context, env func(context.Context, io.Writer) (*testenv.Env, error)) *Env {
	ginkgo.GinkgoHelper()
	ctrl.SetLogger(zap.New(zap.WriteTo(testenv.Log(ginkgo.GinkgoWriter)), zap.UseDevMode(true)))
	started, err := env(ctx, os.Stderr)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() { gomega.Expect(started.Stop()).To(gomega.Succeed()) })
	return &Env{Env: started}
}

// ExpectNothingForbidden fails the spec if the operator has ever asked for what
// its role does not allow.
func (e *Env) ExpectNothingForbidden() {
	ginkgo.GinkgoHelper()
	gomega.Expect(e.Requests.Forbidden()).To(gomega.BeEmpty(), "what is generated must allow everything that the operator asks for")
}

// ExpectGuardedStatuses fails the spec if the operator has ever written a status
// without naming the object that it was computed from.
func (e *Env) ExpectGuardedStatuses() {
	ginkgo.GinkgoHelper()
	_, unguarded := e.Requests.StatusWrites()
	gomega.Expect(unguarded).To(gomega.BeEmpty(), "each status means the object that it was computed from")
}
