package install_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/config/crd"
	"git.ryuvia.com/niklas/terdut-operator/test/helm"
	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
)

// The life of a release, in the order in which people live it.
var _ = Describe("a release", Ordered, func() {
	for _, version := range helm.Versions() {
		Context("of Helm "+version, Ordered, func() { life(version) })
	}
})

func life(version string) {
	var w *world
	BeforeAll(func(ctx SpecContext) {
		w = newWorld(ctx, version, "life")
		DeferCleanup(cleanUp)
	})

	It("is the definitions, the operator and a server, with one command", func(ctx SpecContext) {
		notes := w.helm(ctx, "install", w.withServer("--create-namespace")...)
		Expect(notes).To(ContainSubstring("terdutserver/terdut"))
		Expect(definitions(ctx)).To(HaveLen(5))
		Expect(read(ctx, w.operator())).To(Succeed())
		server := w.server()
		Expect(read(ctx, server)).To(Succeed())
		Expect(server.Annotations).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"))
		Expect(server.Spec.Database.PasswordSecretRef.Name).To(Equal("terdut-database"))
	})

	It("gives people of a namespace what their role says", func(ctx SpecContext) {
		people, err := rbac.People()
		Expect(err).NotTo(HaveOccurred())
		for _, role := range rbac.Roles() {
			person := w.person(ctx, role)
			Eventually(func() []rbac.Right { return w.mayDo(ctx, person) }).Should(ConsistOf(people[role]), role)
		}
		Expect(w.may(ctx, w.person(ctx, "view"), rbac.Right{Resource: "secrets", Verb: "get"})).To(BeFalse())
	})

	It("gives the operator every right that it needs, and takes changes by an upgrade", func(ctx SpecContext) {
		_, stop := w.runOperator(ctx)
		defer stop()
		child := w.child()
		Eventually(func() error { return read(ctx, child) }).Should(Succeed())

		w.helm(ctx, "upgrade", w.withServer("--set=server.image.tag=v0.9.4", "--set=replicas=2")...)
		Eventually(func() string {
			Expect(read(ctx, child)).To(Succeed())
			return child.Spec.Template.Spec.Containers[0].Image
		}).Should(HaveSuffix(":v0.9.4"))
		server := w.server()
		Expect(read(ctx, server)).To(Succeed())
		Expect(server.Finalizers).To(ContainElement(v1alpha1.Finalizer))
	})

	It("leaves the server as it is when it is uninstalled, and nothing terminates", func(ctx SpecContext) {
		w.helm(ctx, "uninstall")
		Eventually(gone(ctx, w.operator())).Should(BeTrue())
		Eventually(gone(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: release}})).Should(BeTrue())
		Expect(definitions(ctx)).To(HaveLen(5))
		Expect(read(ctx, w.server())).To(Succeed())
		Expect(read(ctx, w.child())).To(Succeed())
		Expect(w.terminating(ctx)).To(BeEmpty())
	})

	It("takes the server back when it is installed again", func(ctx SpecContext) {
		before := w.server()
		Expect(read(ctx, before)).To(Succeed())
		w.helm(ctx, "install", w.withServer("--set=server.image.tag=v0.9.4")...)
		// Helm 3 compares a change with its own last manifest only, so that the
		// values of the installation itself count where the server has them already.
		w.helm(ctx, "upgrade", w.withServer("--set=server.image.tag=v0.9.5")...)
		after := w.server()
		Expect(read(ctx, after)).To(Succeed())
		Expect(after.UID).To(Equal(before.UID))
		Expect(after.Spec.Image.Tag).To(Equal("v0.9.5"))
	})

	It("brings old definitions up to its version when the operator starts, and leaves newer ones", func(ctx SpecContext) {
		old, newer := "terdutteams.terdut.ryuvia.com", "terdutalertsources.terdut.ryuvia.com"
		age(ctx, old, "v0.0.1")
		age(ctx, newer, "v99.0.0")
		missing := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "terdutdeadmanswitches.terdut.ryuvia.com"}}
		Expect(admin.Delete(ctx, missing)).To(Succeed())
		Eventually(gone(ctx, missing)).Should(BeTrue())

		log, stop := w.runOperator(ctx)
		defer stop()
		Eventually(has(ctx, old)).Should(BeTrue())
		Eventually(func() error { return read(ctx, missing) }).Should(Succeed())
		Eventually(log.Contents).Should(ContainSubstring("left a custom resource definition of a newer version"))
		Expect(has(ctx, newer)()).To(BeFalse())
	})

	It("goes without a trace in the documented order", func(ctx SpecContext) {
		_, stop := w.runOperator(ctx)
		Expect(admin.Delete(ctx, w.server())).To(Succeed())
		Eventually(gone(ctx, w.server())).Should(BeTrue())
		stop()
		w.helm(ctx, "uninstall")
		// The garbage collector looks for new kinds every 30 s, and asks nobody
		// about owners of a kind that is gone: it would leave what they owned.
		Eventually(func() []string { return w.leftBehind(ctx) }).WithTimeout(2 * patience).Should(BeEmpty())
		removeDefinitions(ctx)
	})
}

// age makes a definition one of another version, which lacks something.
func age(ctx context.Context, name, version string) {
	GinkgoHelper()
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(read(ctx, definition)).To(Succeed())
	definition.Annotations[crd.VersionAnnotation] = version
	definition.Spec.Names.ShortNames = nil
	schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	delete(schema.Properties, "status")
	schema.XValidations = nil
	Expect(admin.Update(ctx, definition)).To(Succeed())
	Expect(has(ctx, name)()).To(BeFalse())
}

// has asks whether a definition has what age takes away.
func has(ctx context.Context, name string) func() bool {
	return func() bool {
		GinkgoHelper()
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(read(ctx, definition)).To(Succeed())
		_, schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
		return schema && len(definition.Spec.Names.ShortNames) > 0
	}
}
