package controlplane_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
)

func TestControlPlane(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "control plane", Label("L1"))
}

var (
	plane    *controlplane.ControlPlane
	admin    kubernetes.Interface
	auditLog string
)

var _ = BeforeSuite(func(ctx SpecContext) {
	auditLog = filepath.Join(GinkgoT().TempDir(), "audit.log")
	var err error
	// Straight to the terminal: Ginkgo holds back what goes to its own writer, and a build takes minutes.
	plane, err = controlplane.Start(ctx, controlplane.Options{Log: os.Stderr, AuditLog: auditLog})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	admin = kubernetes.NewForConfigOrDie(plane.Config)
})
