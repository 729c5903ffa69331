package adoption_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	suite = "adoption"
	// resync is short: what only a resync can find shows within seconds.
	resync = time.Second
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = time.Minute
)

var env *steps.Env

func TestAdoption(t *testing.T) {
	steps.Run(t, "whose an object on a server is", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suite)).To(Succeed())
	env = steps.Start(ctx)
})

var _ = AfterEach(func() { env.ExpectNothingForbidden() })
