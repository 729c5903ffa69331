package install_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/helm"
)

var _ = Describe("a release for some namespaces", func() {
	AfterEach(cleanUp)

	It("has nothing that belongs to the whole cluster, and the operator works", func(ctx SpecContext) {
		cluster := 0
		for _, version := range helm.Versions() {
			w := newWorld(ctx, version, "namespaced")
			w.helm(ctx, "install", w.withServer("--create-namespace", "--set=watchNamespaces={"+w.oncall+"}")...)

			manifest, err := w.Run(ctx, "get", "manifest", release, "--namespace="+w.system)
			Expect(err).NotTo(HaveOccurred())
			Expect(manifest).To(ContainSubstring("kind: TerdutServer"))
			cluster += len(w.clusterScoped(manifest))
			for _, list := range []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}} {
				Expect(admin.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/instance": release})).To(Succeed())
				cluster += meta.LenList(list)
			}

			_, stop := w.runOperator(ctx)
			Eventually(func() error { return read(ctx, w.child()) }).Should(Succeed())
			Expect(admin.Delete(ctx, w.server())).To(Succeed())
			Eventually(gone(ctx, w.server())).Should(BeTrue())
			stop()
			w.helm(ctx, "uninstall")
		}
		Expect(figures.Value(suiteName, "namespaced-mode-cluster-objects", cluster, "")).To(Succeed())
		Expect(cluster).To(BeZero())
	})
})

// clusterScoped are the objects of a manifest that are in no namespace.
func (w *world) clusterScoped(manifest string) []string {
	GinkgoHelper()
	var names []string
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		object := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(strings.TrimPrefix(document, "---\n")), &object.Object)).To(Succeed())
		if len(object.Object) == 0 {
			continue
		}
		gvk := object.GroupVersionKind()
		mapping, err := admin.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		Expect(err).NotTo(HaveOccurred())
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			names = append(names, gvk.Kind+" "+object.GetName())
		}
	}
	return names
}
