package identity_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	suite = "identity"
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 30 * time.Second
)

var env *steps.Env

func TestIdentity(t *testing.T) {
	steps.Run(t, "the operator's identity", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suite)).To(Succeed())
	env = steps.StartWith(ctx, controlplane.DefaultControllers())
	rules, err := alone.Rules()
	Expect(err).NotTo(HaveOccurred())
	Expect(env.Bind(ctx, rules)).To(Succeed())
})

var _ = AfterEach(func() { env.ExpectNothingForbidden() })
