package namespaced_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	// resync is short: what only a resync can find shows within seconds.
	resync = time.Second
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 30 * time.Second
)

var env *steps.Env

func TestNamespaced(t *testing.T) {
	steps.Run(t, "the operator in some namespaces only", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	env = steps.StartUnbound(ctx)
})

var _ = AfterEach(func() { env.ExpectNothingForbidden() })
