package cel_test

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// What kubectl shows of a kind, and how it is typed.
var surfaces = []struct{ kind, plural, short, columns string }{
	{server, "terdutservers", "tsrv", "Name Ready Reason Service Teams Tag Age"},
	{team, "terdutteams", "tteam", "Name Ready Reason Display-Name Server ID Age"},
	{escalation, "terdutescalationrules", "tesc", "Name Ready Reason Team Team-ID Age"},
	{deadman, "terdutdeadmanswitches", "tdms", "Name Ready Reason Switch Timeout ID Age"},
	{alertSource, "terdutalertsources", "tsrc", "Name Ready Reason Kind Secret ID Age"},
}

var _ = Describe("Kinds", func() {
	for _, surface := range surfaces {
		It(surface.kind+" has its names, its category and a status of its own", func() {
			found, err := discovery.NewDiscoveryClientForConfigOrDie(plane.Config).
				ServerResourcesForGroupVersion(v1alpha1.SchemeGroupVersion.String())
			Expect(err).NotTo(HaveOccurred())
			at := slices.IndexFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == surface.plural })
			Expect(at).NotTo(Equal(-1))
			resource := found.APIResources[at]
			Expect(resource.Kind).To(Equal(surface.kind))
			Expect(resource.Namespaced).To(BeTrue())
			Expect(resource.ShortNames).To(ConsistOf(surface.short))
			Expect(resource.Categories).To(ConsistOf("terdut"))
			Expect(found.APIResources).To(ContainElement(HaveField("Name", surface.plural+"/status")))
			Expect(found.APIResources).NotTo(ContainElement(HaveField("Name", surface.plural+"/scale")))
		})

		It(surface.kind+" shows its columns", func(ctx SpecContext) {
			object := fresh(surface.kind)
			Expect(cluster.Create(ctx, object)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, object)).To(Succeed()) })

			config := rest.CopyConfig(plane.Config)
			config.GroupVersion = &v1alpha1.SchemeGroupVersion
			config.APIPath, config.NegotiatedSerializer = "/apis", scheme.Codecs.WithoutConversion()
			rester, err := rest.RESTClientFor(config)
			Expect(err).NotTo(HaveOccurred())
			table := &metav1.Table{}
			Expect(rester.Get().Namespace(namespace).Resource(surface.plural).
				SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Into(table)).To(Succeed())
			var columns []string
			for _, column := range table.ColumnDefinitions {
				columns = append(columns, strings.ReplaceAll(column.Name, " ", "-"))
			}
			Expect(strings.Join(columns, " ")).To(Equal(surface.columns))
		})

		It(surface.kind+" was never observed at first", func(ctx SpecContext) {
			object := fresh(surface.kind)
			Expect(cluster.Create(ctx, object)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, object)).To(Succeed()) })
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			Expect(object.Object["status"]).To(Equal(fields{"observedGeneration": int64(-1)}))

			By("and an emptied status says so again")
			apply(object, []edit{set("status", fields{})})
			Expect(cluster.Status().Update(ctx, object)).To(Succeed())
			Expect(lookup(object, "status.observedGeneration")).To(Equal(int64(-1)))
		})

		It(surface.kind+" does not take its status from whoever writes the spec", func(ctx SpecContext) {
			object := fresh(surface.kind)
			apply(object, []edit{set("status.observedGeneration", 7)})
			Expect(cluster.Create(ctx, object)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, object)).To(Succeed()) })
			Expect(cluster.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
			Expect(lookup(object, "status.observedGeneration")).To(Equal(int64(-1)))
		})
	}
})
