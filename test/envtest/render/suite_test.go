package render_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/localnode"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	suite = "render"
	root  = "../../.."
	// operatorUser is the operator's field manager.
	operatorUser = "terdut-operator"
	// goodImage starts and is healthy, crashImage ends with exit code 3.
	goodImage  = "registry.example.com/good"
	crashImage = "registry.example.com/crash"
	// patience is how long something may take that takes little on an idle
	// machine.
	patience = 60 * time.Second
)

var env *steps.Env

func TestRender(t *testing.T) {
	steps.Run(t, "what a TerdutServer is rendered to", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suite)).To(Succeed())
	program := filepath.Join(GinkgoT().TempDir(), "server")
	output, err := exec.CommandContext(ctx, "go", "build", "-o", program, filepath.Join(root, "test/localnode/testdata/server")).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)

	env = steps.StartWith(ctx, controlplane.WorkloadControllers())
	node, err := localnode.Start(ctx, localnode.Options{
		Config: env.Plane.Config,
		Images: map[string][]string{goodImage: {program}, crashImage: {"sh", "-c", "exit 3"}},
		Log:    testenv.Log(GinkgoWriter),
		// The crash must be seen again and again within the patience.
		MaxBackOff: time.Second,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(node.Stop()).To(Succeed()) })
	Expect(env.BindGenerated(ctx)).To(Succeed())
})

var _ = AfterEach(func() { env.ExpectNothingForbidden() })
