package database_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/localnode"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	suite = "database"
	// resync is long: what a spec waits for must be watched.
	resync = time.Hour
	// optionalPeriod is short, a minute in earnest.
	optionalPeriod = 250 * time.Millisecond
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 60 * time.Second

	// image keeps its state in the database, looseImage ignores that.
	image      = "git.ryuvia.com/niklas/terdut-server"
	looseImage = "registry.example.com/without-database"
)

var (
	env  *steps.Env
	node *localnode.Node
	// stop ends the operator that runs.
	stop func() error
)

func TestDatabase(t *testing.T) {
	steps.Run(t, "the database of a TerdutServer", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suite)).To(Succeed())
	env = steps.StartWith(ctx, controlplane.WorkloadControllers())
	Expect(env.BindGenerated(ctx)).To(Succeed())
	server := buildServer(ctx)
	var err error
	node, err = localnode.Start(ctx, localnode.Options{
		Config: env.Plane.Config,
		Images: map[string][]string{image: {server}, looseImage: {"env", "REFSERVER_IGNORE_DATABASE=true", server}},
		Log:    testenv.Log(GinkgoWriter),
		// A container that cannot connect is tried again soon.
		MaxBackOff: time.Second,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(node.Stop()).To(Succeed()) })
	start()
})

var _ = AfterEach(func() { env.ExpectNothingForbidden() })

// buildServer builds the reference server.
func buildServer(ctx context.Context) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "refserver")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./test/refserver/cmd/refserver")
	cmd.Dir = testenv.Path()
	output, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return path
}

// start starts an operator that reaches servers on the node.
func start() {
	GinkgoHelper()
	var err error
	stop, err = env.StartOperator(controllers.Options{
		Resync: resync, OptionalPeriod: optionalPeriod, Proxy: node.ProxyURL(), AllowLoopback: true,
	})
	Expect(err).NotTo(HaveOccurred())
}

// restart ends the operator, does something, and starts another one.
func restart(between func()) {
	GinkgoHelper()
	Expect(stop()).To(Succeed())
	between()
	start()
}
