package install_test

import (
	"context"
	"os"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/helm"
)

var _ = Describe("terdut-operator release", Ordered, func() {
	var w *world
	key := &corev1.Secret{}
	BeforeAll(func(ctx SpecContext) {
		DeferCleanup(cleanUp)
		w = newWorld(ctx, helm.V4, "release")
		w.helm(ctx, "install", w.withServer("--create-namespace")...)
		_, stop := w.runOperator(ctx)
		Eventually(func() []string {
			server := w.server()
			Expect(read(ctx, server)).To(Succeed())
			return server.Finalizers
		}).Should(ContainElement(v1alpha1.Finalizer))
		stop()
		w.helm(ctx, "uninstall")

		// As the operator leaves one, with a finalizer of somebody else's.
		key.Namespace, key.Name = w.oncall, v1alpha1.NextCredentialsSecretName("terdut")
		key.Finalizers = []string{"example.com/hold", v1alpha1.Finalizer}
		Expect(admin.Create(ctx, key)).To(Succeed())
		Expect(admin.Delete(ctx, key)).To(Succeed())
		Expect(admin.Delete(ctx, w.server())).To(Succeed())
	})

	It("does nothing while an operator holds its lease", func(ctx SpecContext) {
		now := metav1.NowMicro()
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.oncall, Name: release},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("pod-1"), RenewTime: &now, LeaseDurationSeconds: ptr.To[int32](3600),
			},
		}
		Expect(admin.Create(ctx, lease)).To(Succeed())
		output, err := releaseAll(ctx)
		Expect(err).To(HaveOccurred())
		Expect(output).To(And(ContainSubstring(w.oncall+"/"+release), ContainSubstring("pod-1")))
		Expect(admin.Delete(ctx, lease)).To(Succeed())
		Expect(w.terminating(ctx)).To(ContainElements("TerdutServer terdut", "Secret "+key.Name))
	})

	It("says with --dry-run what it would do", func(ctx SpecContext) {
		output, err := releaseAll(ctx, "--dry-run")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(And(
			ContainSubstring("would take terdut.ryuvia.com/cleanup off TerdutServer "+w.oncall+"/terdut, which is being deleted"),
			ContainSubstring("would take terdut.ryuvia.com/cleanup off Secret "+w.oncall+"/"+key.Name),
		))
		Expect(w.terminating(ctx)).To(ContainElements("TerdutServer terdut", "Secret "+key.Name))
	})

	It("leaves other namespaces alone with --namespaces", func(ctx SpecContext) {
		output, err := releaseAll(ctx, "--namespaces="+w.system)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("0 objects released"))
	})

	It("takes our finalizers off, and nobody else's", func(ctx SpecContext) {
		output, err := releaseAll(ctx)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(gone(ctx, w.server())).Should(BeTrue())
		Expect(read(ctx, key)).To(Succeed())
		Expect(key.Finalizers).To(ConsistOf("example.com/hold"))
		key.Finalizers = nil
		Expect(admin.Update(ctx, key)).To(Succeed())
		Eventually(func() []string { return w.terminating(ctx) }).Should(BeEmpty())
	})

	It("has nothing to do where the definitions are gone", func(ctx SpecContext) {
		removeDefinitions(ctx)
		output, err := releaseAll(ctx)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(And(ContainSubstring("no TerdutServer: its custom resource definition is not installed"),
			ContainSubstring("0 objects released")))
	})
})

// releaseAll runs the command as the administrator.
func releaseAll(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, append([]string{"release"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.AdminKubeconfig())
	output, err := cmd.CombinedOutput()
	return string(output), err
}
