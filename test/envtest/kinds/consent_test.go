package kinds_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// teamCalls are the calls to a server that have to do with teams. Whether the
// server's own key is good is asked all the time.
func teamCalls(i *install) []string {
	var out []string
	for _, call := range i.peer.Calls("GET", "POST", "PUT", "PATCH", "DELETE") {
		if strings.Contains(call, "/api/teams") {
			out = append(out, call)
		}
	}
	return out
}

// label sets or takes away the label that the servers here ask for.
func label(ctx context.Context, namespace string, present bool) {
	GinkgoHelper()
	change(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, func(ns *corev1.Namespace) {
		delete(ns.Labels, allowed)
		if present {
			ns.Labels[allowed] = "true"
		}
	})
}

var _ = Describe("consent", func() {
	DescribeTable("of a server to teams of other namespaces", func(ctx SpecContext, from v1alpha1.FromNamespaces, admits bool) {
		i := newInstall(ctx)
		change(ctx, i.server, func(s *v1alpha1.TerdutServer) {
			s.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{From: from}
		})
		i.peer.ResetRequests()
		far, near := i.team("Far"), i.teamIn(i.platform, "Near")
		near.Spec.ServerRef.Namespace = ""
		create(ctx, far, near)
		eventuallyReady(ctx, near)
		if admits {
			eventuallyReady(ctx, far)
			return
		}
		eventuallyTold(ctx, far, v1alpha1.ConditionReady, "False RefNotPermitted")
		Expect(far.Finalizers).To(BeEmpty())
		Expect(i.peer.Teams()).To(ConsistOf(HaveField("Name", "Near")))
	},
		Entry("None", v1alpha1.FromNone, false),
		Entry("Same", v1alpha1.FromSame, false),
		Entry("All", v1alpha1.FromAll, true),
	)

	It("does not tell a server that is missing from one that forbids", func(ctx SpecContext) {
		i := newInstall(ctx)
		stranger := namespace(ctx, "stranger", nil)
		forbidden, missing := i.teamIn(stranger, "Forbidden"), i.teamIn(stranger, "Missing")
		missing.Spec.ServerRef.Name = "nothing"
		create(ctx, forbidden, missing)
		eventuallyTold(ctx, forbidden, v1alpha1.ConditionReady, "False RefNotPermitted")
		eventuallyTold(ctx, missing, v1alpha1.ConditionReady, "False RefNotPermitted")
		Expect(conditions(forbidden)).To(HaveLen(len(conditions(missing))))
		for n, c := range conditions(forbidden) {
			other := conditions(missing)[n]
			Expect(strings.ReplaceAll(c.Message, "/terdut", "/nothing")).To(Equal(other.Message))
			Expect(c.Reason).To(Equal(other.Reason))
		}
	})

	It("stops everything when it is taken back, keeps what is there, and starts again", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		label(ctx, i.tenant, false)
		for _, o := range a.objects {
			eventuallyTold(ctx, o, v1alpha1.ConditionReady, "False RefNotPermitted")
			Expect(told(ctx, o, v1alpha1.ConditionStalled)()).To(Equal("True RefNotPermitted"))
		}
		i.peer.ResetRequests()
		Consistently(func() []string { return teamCalls(i) }, 3*resync).Should(BeEmpty())
		Expect(i.peer.Teams()).To(HaveLen(1))
		Expect(i.peer.Switches(a.team.Status.TeamID)).To(HaveLen(1))
		Expect(i.peer.Integrations(a.team.Status.TeamID)).To(HaveLen(1))
		Expect(i.peer.Escalation(a.team.Status.TeamID).Levels).To(HaveLen(1))

		By("the label being back")
		label(ctx, i.tenant, true)
		eventuallyReady(ctx, a.objects...)
		Expect(i.peer.Calls("POST", "PUT", "PATCH", "DELETE")).To(BeEmpty())

		By("cleaning up after it was taken back again")
		label(ctx, i.tenant, false)
		eventuallyTold(ctx, a.source, v1alpha1.ConditionReady, "False RefNotPermitted")
		i.peer.ResetRequests()
		remove(ctx, a.children...)
		eventuallyGone(ctx, a.children...)
		remove(ctx, a.team)
		eventuallyGone(ctx, a.team)
		Expect(i.peer.Teams()).To(BeEmpty())
		// Among them the account of the team's own key.
		Expect(i.peer.Calls("POST", "DELETE")).To(HaveLen(4))
		Expect(i.peer.Calls("PUT")).To(HaveLen(1))
	})
})
