package kinds_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// teamCalls are the calls to a server that have to do with teams. Whether the
// server's own key is good is asked all the time.
func teamCalls(i *steps.Install) []string {
	var out []string
	for _, call := range i.Peer.Calls("GET", "POST", "PUT", "PATCH", "DELETE") {
		if strings.Contains(call, "/api/teams") {
			out = append(out, call)
		}
	}
	return out
}

// label sets or takes away the label that the servers here ask for.
func label(ctx context.Context, namespace string, present bool) {
	GinkgoHelper()
	steps.Change(ctx, env, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, func(ns *corev1.Namespace) {
		delete(ns.Labels, sample.Allowed)
		if present {
			ns.Labels[sample.Allowed] = "true"
		}
	})
}

var _ = Describe("consent", func() {
	DescribeTable("of a server to teams of other namespaces", func(ctx SpecContext, from v1alpha1.FromNamespaces, admits bool) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		steps.Change(ctx, env, i.Server, func(s *v1alpha1.TerdutServer) {
			s.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{From: from}
		})
		i.Peer.ResetRequests()
		far, near := i.Team("Far"), i.TeamIn(i.Platform, "Near")
		near.Spec.ServerRef.Namespace = ""
		env.Create(ctx, far, near)
		env.EventuallyReady(ctx, near)
		if admits {
			env.EventuallyReady(ctx, far)
			return
		}
		env.EventuallyTold(ctx, far, v1alpha1.ConditionReady, "False RefNotPermitted")
		Expect(far.Finalizers).To(BeEmpty())
		Expect(i.Peer.Teams()).To(ConsistOf(HaveField("Name", "Near")))
	},
		Entry("None", v1alpha1.FromNone, false),
		Entry("Same", v1alpha1.FromSame, false),
		Entry("All", v1alpha1.FromAll, true),
	)

	It("does not tell a server that is missing from one that forbids", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		stranger := env.NewNamespace(ctx, "stranger", nil)
		forbidden, missing := i.TeamIn(stranger, "Forbidden"), i.TeamIn(stranger, "Missing")
		missing.Spec.ServerRef.Name = "nothing"
		env.Create(ctx, forbidden, missing)
		env.EventuallyTold(ctx, forbidden, v1alpha1.ConditionReady, "False RefNotPermitted")
		env.EventuallyTold(ctx, missing, v1alpha1.ConditionReady, "False RefNotPermitted")
		Expect(steps.Conditions(forbidden)).To(HaveLen(len(steps.Conditions(missing))))
		for n, c := range steps.Conditions(forbidden) {
			other := steps.Conditions(missing)[n]
			Expect(strings.ReplaceAll(c.Message, "/terdut", "/nothing")).To(Equal(other.Message))
			Expect(c.Reason).To(Equal(other.Reason))
		}
	})

	It("stops everything when it is taken back, keeps what is there, and starts again", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		label(ctx, i.Tenant, false)
		for _, o := range a.Objects() {
			env.EventuallyTold(ctx, o, v1alpha1.ConditionReady, "False RefNotPermitted")
			Expect(env.Told(ctx, o, v1alpha1.ConditionStalled)()).To(Equal("True RefNotPermitted"))
		}
		i.Peer.ResetRequests()
		Consistently(func() []string { return teamCalls(i) }, 3*resync).Should(BeEmpty())
		Expect(i.Peer.Teams()).To(HaveLen(1))
		Expect(i.Peer.Switches(a.Team.Status.TeamID)).To(HaveLen(1))
		Expect(i.Peer.Integrations(a.Team.Status.TeamID)).To(HaveLen(1))
		Expect(i.Peer.Escalation(a.Team.Status.TeamID).Levels).To(HaveLen(1))

		By("the label being back")
		label(ctx, i.Tenant, true)
		env.EventuallyReady(ctx, a.Objects()...)
		Expect(i.Peer.Calls("POST", "PUT", "PATCH", "DELETE")).To(BeEmpty())

		By("cleaning up after it was taken back again")
		label(ctx, i.Tenant, false)
		env.EventuallyTold(ctx, a.Source, v1alpha1.ConditionReady, "False RefNotPermitted")
		i.Peer.ResetRequests()
		env.Remove(ctx, a.Children()...)
		env.EventuallyGone(ctx, a.Children()...)
		env.Remove(ctx, a.Team)
		env.EventuallyGone(ctx, a.Team)
		Expect(i.Peer.Teams()).To(BeEmpty())
		// Among them the account of the team's own key.
		Expect(i.Peer.Calls("POST", "DELETE")).To(HaveLen(4))
		Expect(i.Peer.Calls("PUT")).To(HaveLen(1))
	})
})
