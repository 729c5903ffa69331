package localnode_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/localnode"
)

// patience is how long real controllers and processes may take on a machine that is busy with other things.
const patience = 90 * time.Second

const image = "registry.example.com:5000/team/server"

func TestLocalNode(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "local node", Label("L1"))
}

var (
	node  *localnode.Node
	admin kubernetes.Interface
	// inside is a client that reaches Services.
	inside *http.Client
)

var _ = BeforeSuite(func(ctx SpecContext) {
	program := filepath.Join(GinkgoT().TempDir(), "server")
	output, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./testdata/server").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)

	// Straight to the terminal: Ginkgo holds back what goes to its own writer, and a build takes minutes.
	plane, err := controlplane.Start(ctx, controlplane.Options{Controllers: controlplane.WorkloadControllers(), Log: os.Stderr})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	admin = kubernetes.NewForConfigOrDie(plane.Config)

	node, err = localnode.Start(ctx, localnode.Options{
		Config:   plane.Config,
		Images:   map[string][]string{image: {program, "serve"}},
		ExtraEnv: map[string]string{"EXTRA": "added", "PLAIN": "the specification wins"},
		LogDir:   GinkgoT().TempDir(),
		Log:      GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(node.Stop()).To(Succeed()) })
	inside = &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(node.ProxyURL()), DisableKeepAlives: true}}
})

// newNamespace makes a namespace and waits for its service account, without which no pod is admitted.
func newNamespace(ctx SpecContext) string {
	GinkgoHelper()
	made, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() error {
		_, getErr := admin.CoreV1().ServiceAccounts(made.Name).Get(ctx, "default", metav1.GetOptions{})
		return getErr
	}).Should(Succeed())
	return made.Name
}
