package cel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The examples of the design document are the contract. testdata/document has them as they are printed there; what is
// taken out here is the status and, of the two ways to name a database, the one that is not tried.
var _ = Describe("The design document's example", Label(caseLabel), func() {
	const or = "    # --- OR ---\n"

	serverExample := func(database func(string) string) *unstructured.Unstructured {
		return decode([]byte(database(printed(server))))
	}

	for _, alternative := range []struct {
		name   string
		choose func(string) string
		has    string
	}{
		{"a DSN", func(text string) string {
			before, after, found := strings.Cut(text, or)
			Expect(found).To(BeTrue())
			_, after, _ = strings.Cut(after, "\n")
			return before + after
		}, "spec.database.dsn"},
		{"a cluster of the Zalando operator", func(text string) string {
			before, after, found := strings.Cut(text, "    dsn:")
			Expect(found).To(BeTrue())
			_, after, found = strings.Cut(after, or)
			Expect(found).To(BeTrue())
			return before + after
		}, "spec.database.postgresClusterRef"},
	} {
		It("of a TerdutServer with "+alternative.name+" applies as printed", func(ctx SpecContext) {
			object := serverExample(alternative.choose)
			applyExample(ctx, object)
			Expect(lookup(object, alternative.has)).NotTo(BeNil())
			Expect(lookup(object, "spec.notify.tokenSecretRef.name")).To(Equal(""))
			Expect(lookup(object, "spec.oidc.sessionMaxAge")).To(Equal("12h"))
			Expect(lookup(object, "spec.allowedTeams.namespaces.from")).To(Equal("None"))
		})
	}

	It("of a TerdutServer with both databases is refused", func(ctx SpecContext) {
		object := serverExample(func(text string) string { return text })
		ensureNamespace(ctx, object.GetNamespace())
		Expect(cluster.Create(ctx, object)).To(MatchError(ContainSubstring("set exactly one of dsn, postgresClusterRef and cnpgClusterRef")))
	})

	for _, kind := range []string{team, escalation, deadman, alertSource} {
		It(fmt.Sprintf("of a %s applies as printed", kind), func(ctx SpecContext) {
			const head = "apiVersion: terdut.ryuvia.com/v1alpha1\nkind: %s\nmetadata: {name: as-printed, namespace: %s}\n"
			object := decode([]byte(fmt.Sprintf(head, kind, namespace) + printed(kind)))
			applyExample(ctx, object)
		})
	}
})

// printed is the example of the kind without its status.
func printed(kind string) string {
	content, err := os.ReadFile(filepath.Join("testdata", "document", strings.ToLower(kind)+".yaml"))
	Expect(err).NotTo(HaveOccurred())
	text, _, found := strings.Cut(string(content), "status:\n")
	Expect(found).To(BeTrue())
	return text
}

// applyExample applies the object as a GitOps tool would and checks that what was asked for is what is stored.
func applyExample(ctx SpecContext, object *unstructured.Unstructured) {
	GinkgoHelper()
	asked := object.DeepCopy()
	ensureNamespace(ctx, object.GetNamespace())
	Expect(serverSideApply(ctx, object)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, object)).To(Succeed()) })
	expectContains(object.Object["spec"], asked.Object["spec"], "spec")
}

// serverSideApply applies the object and fills it with the answer.
func serverSideApply(ctx SpecContext, object *unstructured.Unstructured) error {
	return cluster.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("gitops"))
}

// expectContains wants every field of asked to be in stored, with the same value; defaults may be added.
func expectContains(stored, asked any, path string) {
	GinkgoHelper()
	want, isObject := asked.(fields)
	if !isObject {
		Expect(stored).To(Equal(asked), path)
		return
	}
	got, isObject := stored.(fields)
	Expect(isObject).To(BeTrue(), path)
	for name, value := range want {
		expectContains(got[name], value, path+"."+name)
	}
}

func ensureNamespace(ctx SpecContext, name string) {
	GinkgoHelper()
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(client.IgnoreAlreadyExists(cluster.Create(ctx, created))).To(Succeed())
}
