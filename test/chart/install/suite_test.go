// Package install_test installs, upgrades and removes the chart on a real API
// server, with Helm 3 and Helm 4, and runs the operator as the ServiceAccount
// that the chart makes, with the flags of its Deployment. There is no kubelet:
// nothing here waits for pods.
package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/canary/sealed"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
)

const (
	suiteName = "chart"
	root      = "../../.."
	chart     = root + "/charts/terdut-operator"
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 60 * time.Second
	poll     = 100 * time.Millisecond
)

var (
	plane *controlplane.ControlPlane
	admin client.Client
	// program is the operator's binary.
	program string
	// said is what operators have logged.
	said sealed.Text
)

func TestInstall(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "the chart on a cluster", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suiteName)).To(Succeed())
	program = filepath.Join(GinkgoT().TempDir(), "terdut-operator")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/terdut-operator")
	build.Dir = root
	output, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)

	usage, err := rbac.Record(suiteName)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(usage.Save)
	plane, err = controlplane.Start(ctx, controlplane.Options{
		AuditLog:    usage.AuditLog(),
		Controllers: append(controlplane.DefaultControllers(), "clusterrole-aggregation-controller"),
		Log:         os.Stderr,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	cluster, err := sealed.Watch(plane.Config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		cluster.Stop()
		Expect(cluster.Prove(ctx, suiteName, map[string][]byte{"the operator's log": said.Bytes()})).To(Succeed())
	})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		Expect(add(scheme)).To(Succeed())
	}
	admin, err = client.New(plane.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
})
