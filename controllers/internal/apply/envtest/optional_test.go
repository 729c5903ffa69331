package apply_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

// monitorCRD is a kind that neither the scheme nor the converter knows, with lists as the optional kinds have them.
const monitorCRD = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "monitors.apply.test"},
  "spec": {
    "group": "apply.test", "scope": "Namespaced",
    "names": {"kind": "Monitor", "plural": "monitors", "singular": "monitor", "listKind": "MonitorList"},
    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
      "type": "object",
      "properties": {"spec": {"type": "object", "properties": {
        "interval": {"type": "string", "default": "30s"},
        "endpoints": {"type": "array", "items": {"type": "object", "properties": {
          "port": {"type": "string"}, "path": {"type": "string", "default": "/metrics"}}}},
        "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
          "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}}}}
      }}}
    }}}]
  }
}`

var _ = Describe("a kind without a schema", func() {
	It("is made, left alone, corrected and updated", func(ctx SpecContext) {
		crd := &unstructured.Unstructured{}
		Expect(crd.UnmarshalJSON([]byte(monitorCRD))).To(Succeed())
		Expect(admin.Create(ctx, crd)).To(Succeed())
		w := newWorld(ctx)
		port := "http"
		render := func() []runtime.ApplyConfiguration {
			reference, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.reference())
			Expect(err).NotTo(HaveOccurred())
			return []runtime.ApplyConfiguration{client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apply.test/v1", "kind": "Monitor",
				"metadata": map[string]any{
					"name": "demo", "namespace": w.owner.Namespace, "ownerReferences": []any{reference},
					"labels": map[string]any{"app.kubernetes.io/name": "demo"},
				},
				"spec": map[string]any{
					"selector":  map[string]any{"matchLabels": map[string]any{"a": "b"}},
					"endpoints": []any{map[string]any{"port": port, "path": "/metrics"}},
				},
			}})}
		}
		pass := func() apply.Report {
			GinkgoHelper()
			report, err := engine.Converge(ctx, w.owner, w.records, render(), nil, nil)
			Expect(err).NotTo(HaveOccurred())
			w.records = report.Records
			w.caughtUp(ctx, report)
			return report
		}
		Eventually(func() error {
			monitors := &unstructured.UnstructuredList{}
			monitors.SetAPIVersion("apply.test/v1")
			monitors.SetKind("MonitorList")
			return admin.List(ctx, monitors)
		}).Should(Succeed())

		Expect(pass().Changes).To(ConsistOf(HaveField("Action", apply.Created)))
		requests.take()
		for range 3 {
			Expect(pass().Changes).To(BeEmpty())
		}
		Expect(requests.take()).To(BeEmpty())

		live, ok := pass().Object("Monitor", "demo").(*unstructured.Unstructured)
		Expect(ok).To(BeTrue())
		live = live.DeepCopy()
		Expect(unstructured.SetNestedField(live.Object, "evil", "spec", "selector", "matchLabels", "a")).To(Succeed())
		live.SetFinalizers([]string{"apply.test/foreign"})
		Expect(admin.Update(ctx, live, client.FieldOwner("thief"))).To(Succeed())
		w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Monitor"}: live}})
		report := pass()
		Expect(report.Changes).To(ConsistOf(And(HaveField("Action", apply.Corrected), HaveField("Fields", ConsistOf(
			And(HaveField("Path", HavePrefix("spec.selector")), HaveField("Manager", "thief")))))))
		Expect(report.Object("Monitor", "demo").GetFinalizers()).To(ConsistOf("apply.test/foreign"))

		port = "https"
		Expect(pass().Changes).To(ConsistOf(HaveField("Action", apply.Updated)))
		requests.take()
		Expect(pass().Changes).To(BeEmpty())
		Expect(requests.take()).To(BeEmpty())
	})
})
