package node_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/node"
)

func TestNode(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("a node takes root, and CI=true forbids skipping")
		}
		t.Skip("a node takes root on Linux")
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "node", Label("L2"))
}

// patience is for what the machine does while it compiles something else.
const patience = 2 * time.Minute

var (
	dir    string
	logs   string
	before traces
	killed space
	cube   *node.Node
	admin  kubernetes.Interface
)

// The first node is killed without warning; the one that the specs use starts in what it left.
var _ = BeforeSuite(func(ctx SpecContext) {
	dir = filepath.Join(GinkgoT().TempDir(), "node")
	logs = filepath.Join(GinkgoT().TempDir(), "logs")
	DeferCleanup(func(ctx SpecContext) {
		Expect(node.Clear(ctx, node.Options{Dir: dir})).To(Succeed(), "when the suite fails half way")
	})
	before = lookAround()
	killed = killedRun(ctx, dir)
	Eventually(killed.remains).WithTimeout(patience).Should(BeEmpty())
	Expect(lookAround().mounts).To(Equal(before.mounts))
	Expect(dir).To(BeADirectory(), "files and cgroups are what a killed run leaves")

	Expect(figures.Start("node")).To(Succeed())
	var log strings.Builder
	var err error
	begin := time.Now()
	cube, err = node.Start(ctx, node.Options{Log: &log, Dir: dir, KeepLogs: logs})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(cube.Stop(ctx)).To(Succeed()) })
	Expect(figures.Value("node", "node-start", time.Since(begin).Round(100*time.Millisecond).Seconds(), "s")).To(Succeed())
	GinkgoWriter.Print(log.String())
	Expect(log.String()).To(ContainSubstring("clearing what a killed run left in " + dir))
	admin = kubernetes.NewForConfigOrDie(cube.Config())
})

// killedRun runs a node by the command and kills that as soon as the node is ready.
func killedRun(ctx SpecContext, dir string) space {
	GinkgoHelper()
	program := filepath.Join(GinkgoT().TempDir(), "node-command")
	output, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/node").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)
	victim := exec.CommandContext(ctx, program, "up", "-dir", dir)
	// Straight to the terminal: Ginkgo holds back what goes to its own writer, and a build takes minutes.
	victim.Stderr = os.Stderr
	stdout, err := victim.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(victim.Start()).To(Succeed())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	Expect(err).NotTo(HaveOccurred(), "the command says that the node runs")
	Expect(line).To(HavePrefix("running"))
	made := spaceOf(dir)
	Expect(victim.Process.Kill()).To(Succeed())
	Expect(victim.Wait()).NotTo(Succeed())
	return made
}
