package cel_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What an update cannot do must not be possible by removing and setting again, by patch or by apply either.
var _ = Describe("An immutable reference", Label(caseLabel), func() {
	for kind, field := range byKind(map[string]string{
		team: "serverRef", escalation: "teamRef", deadman: "teamRef", alertSource: "teamRef",
	}) {
		if field == "" {
			continue
		}
		for _, step := range []struct {
			name    string
			of      types.PatchType
			content string
			says    string
		}{
			{"removed by a merge patch", types.MergePatchType, `{"spec":{%q:null}}`, "Required value"},
			{"emptied by a merge patch", types.MergePatchType, `{"spec":{%q:{"name":null}}}`, "Required value"},
			{"removed with the whole spec", types.MergePatchType, `{"spec":null%.0s}`, "Required value"},
			{"replaced by a merge patch", types.MergePatchType, `{"spec":{%q:{"name":"other"}}}`, "is immutable"},
			{
				"removed and set again in one JSON patch", types.JSONPatchType,
				`[{"op":"remove","path":"/spec/%[1]s"},{"op":"add","path":"/spec/%[1]s","value":{"name":"other"}}]`,
				"is immutable",
			},
		} {
			It(fmt.Sprintf("of %s cannot be %s", kind, step.name), func(ctx SpecContext) {
				object := stored(ctx, kind)
				patch := client.RawPatch(step.of, fmt.Appendf(nil, step.content, field))
				Expect(cluster.Patch(ctx, object, patch)).To(MatchError(ContainSubstring(step.says)))
				expectUntouched(ctx, object, kind)
			})
		}

		It(fmt.Sprintf("of %s cannot be taken away or changed by an apply", kind), func(ctx SpecContext) {
			object := fresh(kind)
			owner := client.FieldOwner("tenant")
			send := func(edits ...edit) error {
				intent := object.DeepCopy()
				apply(intent, edits)
				return cluster.Apply(ctx, client.ApplyConfigurationFromUnstructured(intent), owner, client.ForceOwnership)
			}
			Expect(send()).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, object)).To(Succeed()) })
			Expect(send(unset("spec." + field))).To(MatchError(ContainSubstring("Required value")))
			Expect(send(set("spec."+field+".name", "other"))).To(MatchError(ContainSubstring("is immutable")))
			if kind == team {
				Expect(send(unset("spec.serverRef.namespace"))).To(MatchError(ContainSubstring("is immutable")))
			}
			Expect(send()).To(Succeed())
			expectUntouched(ctx, object, kind)
		})

		It(fmt.Sprintf("of %s does not stand in the way of deletion and creation", kind), func(ctx SpecContext) {
			object := stored(ctx, kind)
			Expect(cluster.Delete(ctx, object)).To(Succeed())
			moved := fresh(kind)
			moved.SetName(object.GetName())
			apply(moved, []edit{set("spec."+field+".name", "other")})
			Expect(cluster.Create(ctx, moved)).To(Succeed())
		})
	}

	It("survives its namespace: null in a merge patch takes nothing away", func(ctx SpecContext) {
		object := stored(ctx, team)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"serverRef":{"namespace":null}}}`))
		Expect(cluster.Patch(ctx, object, patch)).To(MatchError(ContainSubstring("serverRef is immutable")))
		expectUntouched(ctx, object, team)
	})
})

// stored is an object of the kind that is deleted again after the spec.
func stored(ctx SpecContext, kind string) *unstructured.Unstructured {
	GinkgoHelper()
	object := fresh(kind)
	Expect(cluster.Create(ctx, object)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(cluster.Delete(ctx, object))).To(Succeed())
	})
	return object
}

// expectUntouched wants the stored spec to be that of the base.
func expectUntouched(ctx SpecContext, object *unstructured.Unstructured, kind string) {
	GinkgoHelper()
	live := object.DeepCopy()
	Expect(cluster.Get(ctx, client.ObjectKeyFromObject(object), live)).To(Succeed())
	Expect(live.Object["spec"]).To(Equal(base(kind).Object["spec"]))
}
