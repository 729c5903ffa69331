package cel_test

import (
	"encoding/base64"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

var _ = Describe("The samples", func() {
	for _, sample := range []struct{ directory, server, team string }{
		{"samples/single-tenant", "terdut", "terdut"},
		{"samples/cross-namespace", "platform-oncall", "payments"},
	} {
		It("of "+sample.directory+" apply, one object of each kind", func(ctx SpecContext) {
			objects := render(ctx, sample.directory)
			kubectlApply(ctx, sample.directory)
			applyAll(ctx, objects)
			found := map[string]string{}
			for _, object := range objects {
				found[object.GetKind()] = object.GetNamespace()
			}
			Expect(found).To(HaveKeyWithValue(server, sample.server))
			Expect(found).To(HaveKeyWithValue("Secret", sample.server))
			for _, kind := range []string{team, escalation, deadman, alertSource} {
				Expect(found).To(HaveKeyWithValue(kind, sample.team))
			}
		})

		It("of "+sample.directory+" fit together", func(ctx SpecContext) {
			objects := render(ctx, sample.directory)
			named := func(kind, inNamespace, name string) *unstructured.Unstructured {
				GinkgoHelper()
				at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
					return o.GetKind() == kind && o.GetNamespace() == inNamespace && o.GetName() == name
				})
				Expect(at).NotTo(Equal(-1), "%s %s/%s", kind, inNamespace, name)
				return objects[at]
			}
			for _, object := range objects {
				switch object.GetKind() {
				case server:
					secret := named("Secret", object.GetNamespace(), lookup(object, "spec.database.passwordSecretRef.name").(string))
					password := lookup(secret, "data."+lookup(object, "spec.database.passwordSecretRef.key").(string)).(string)
					Expect(base64.StdEncoding.DecodeString(password)).To(ContainSubstring("placeholder"))
				case team:
					referred := object.GetNamespace()
					if other, isSet := lookup(object, "spec.serverRef.namespace").(string); isSet {
						referred = other
					}
					expectConsent(named(server, referred, lookup(object, "spec.serverRef.name").(string)),
						named("Namespace", "", object.GetNamespace()))
				case escalation, deadman, alertSource:
					named(team, object.GetNamespace(), lookup(object, "spec.teamRef.name").(string))
				}
			}
		})
	}
})

// expectConsent wants the server to let in teams of that namespace.
func expectConsent(of, inNamespace *unstructured.Unstructured) {
	GinkgoHelper()
	if of.GetNamespace() == inNamespace.GetName() {
		return
	}
	selector := &metav1.LabelSelector{}
	raw, isSet := lookup(of, "spec.allowedTeams.namespaces.selector").(fields)
	Expect(isSet).To(BeTrue(), "the sample consents by a selector")
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(raw, selector)).To(Succeed())
	matches, err := metav1.LabelSelectorAsSelector(selector)
	Expect(err).NotTo(HaveOccurred())
	Expect(matches.Matches(labels.Set(inNamespace.GetLabels()))).To(BeTrue())
}
