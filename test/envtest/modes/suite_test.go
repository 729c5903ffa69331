package modes_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	suite = "modes"
	// resync is short: what only a resync can find shows within seconds.
	resync = time.Second
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 30 * time.Second
)

var env *steps.Env

func TestModes(t *testing.T) {
	steps.Run(t, "what the namespaces of teams get", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suite)).To(Succeed())
	env = steps.Start(ctx)
	Expect(env.RunOperator(resync)).To(Succeed())
})

var _ = AfterEach(func() { env.ExpectNothingForbidden() })
