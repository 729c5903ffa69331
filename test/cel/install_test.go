package cel_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/charts"
)

var _ = Describe("The plain manifests", func() {
	It("apply, and the operator's pod passes Pod Security restricted", func(ctx SpecContext) {
		objects := render(ctx, "default")
		kubectlApply(ctx, "default")
		applyAll(ctx, objects)
		template := deploymentOf(objects).Spec.Template

		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "operator", Namespace: "terdut-system"}, Spec: template.Spec}
		Expect(cluster.Create(ctx, pod.DeepCopy(), client.DryRunAll)).To(Succeed())
		By("which is not so for every pod")
		pod.Spec.SecurityContext.RunAsNonRoot = nil
		Expect(cluster.Create(ctx, pod, client.DryRunAll)).To(MatchError(ContainSubstring(`violates PodSecurity "restricted`)))
	})

	It("run the operator as it expects", func(ctx SpecContext) {
		deployment := deploymentOf(render(ctx, "default"))
		pod := deployment.Spec.Template.Spec
		Expect(pod.AutomountServiceAccountToken).To(Equal(ptr.To(true)))
		Expect(pod.ServiceAccountName).To(Equal("terdut-operator"))
		Expect(pod.Containers).To(HaveLen(1))
		container := pod.Containers[0]
		Expect(container.Image).To(Equal("git.ryuvia.com/niklas/terdut-operator:" + charts.Version()))
		Expect(container.Args).To(ConsistOf("--leader-elect", "--metrics-bind-address=:8080"))
		Expect(container.SecurityContext.ReadOnlyRootFilesystem).To(Equal(ptr.To(true)))
		Expect(container.Ports).To(ConsistOf(
			HaveField("ContainerPort", BeEquivalentTo(8080)), HaveField("ContainerPort", BeEquivalentTo(8081))))
		Expect(container.LivenessProbe.HTTPGet.Path).To(Equal("/healthz"))
		Expect(container.ReadinessProbe.HTTPGet.Path).To(Equal("/readyz"))
		Expect(container.Resources.Requests).NotTo(BeEmpty())
		Expect(container.Resources.Limits).To(HaveKey(corev1.ResourceMemory))
	})

	It("bind the operator's rights to its account", func(ctx SpecContext) {
		objects := render(ctx, "default")
		account := rbacv1.Subject{Kind: "ServiceAccount", Name: "terdut-operator", Namespace: "terdut-system"}
		exists(objects, "ServiceAccount", account.Name)
		everywhere, inOwn := &rbacv1.ClusterRoleBinding{}, &rbacv1.RoleBinding{}
		convert(exists(objects, "ClusterRoleBinding", "terdut-operator"), everywhere)
		convert(exists(objects, "RoleBinding", "terdut-operator-leader-election"), inOwn)
		Expect(everywhere.Subjects).To(ConsistOf(account))
		Expect(inOwn.Subjects).To(ConsistOf(account))
		exists(objects, everywhere.RoleRef.Kind, everywhere.RoleRef.Name)
		exists(objects, inOwn.RoleRef.Kind, inOwn.RoleRef.Name)
	})

	It("have all custom resources", func(ctx SpecContext) {
		var names []string
		for _, object := range render(ctx, "crd") {
			names = append(names, lookup(object, "spec.names.kind").(string))
		}
		Expect(names).To(ConsistOf(kinds))
	})
})

// The rights that people are given: their text, and what a person can do with the tenant's.
var _ = Describe("The roles for people", func() {
	It("let a tenant write a team, and neither its status nor a server", func(ctx SpecContext) {
		content, err := os.ReadFile(filepath.Join(configDir, "rbac", "tenant_role.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(serverSideApply(ctx, decode(content))).To(Succeed())
		Expect(client.IgnoreAlreadyExists(cluster.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "tina", Namespace: namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "terdut-operator-tenant"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "tina"}},
		}))).To(Succeed())
		access, err := plane.AddUser("tina")
		Expect(err).NotTo(HaveOccurred())
		tina, err := client.New(access, client.Options{})
		Expect(err).NotTo(HaveOccurred())

		hers := fresh(team)
		Eventually(func() error { return tina.Create(ctx, hers) }).Should(Succeed())
		apply(hers, []edit{set("status.teamID", 1)})
		Expect(tina.Status().Update(ctx, hers.DeepCopy())).To(MatchError(ContainSubstring("forbidden")))
		Expect(tina.Create(ctx, fresh(server))).To(MatchError(ContainSubstring("forbidden")))
		Expect(tina.Delete(ctx, hers)).To(Succeed())
	})
})
