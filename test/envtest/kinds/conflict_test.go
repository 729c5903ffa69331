package kinds_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("a name that is taken", func() {
	It("is not touched from another namespace, and adopted from the server's own", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		foreign, err := i.Peer.Model().CreateTeam("Platform")
		Expect(err).NotTo(HaveOccurred())
		i.Peer.ResetRequests()
		team := i.Team("Platform")
		env.Create(ctx, team)
		env.EventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		Expect(env.Told(ctx, team, v1alpha1.ConditionStalled)()).To(Equal("True NameConflict"))
		Expect(i.Peer.Calls("POST", "PUT", "PATCH", "DELETE")).To(BeEmpty())

		// The older of two has no right on that account.
		own := i.TeamIn(i.Platform, "Platform")
		env.Create(ctx, own)
		env.EventuallyReady(ctx, own)
		Expect(own.Status.TeamID).To(Equal(foreign.ID))
		Expect(own.Status.Remote.Adopted).To(BeTrue())
		env.EventuallyEvent(ctx, own, HavePrefix("Normal Adopted"))
		Expect(i.Peer.Teams()).To(HaveLen(1))

		By("not telling one tenant about another")
		env.EventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		Eventually(func() string { _ = env.Read(ctx, team); return steps.Message(team, v1alpha1.ConditionReady) }).Should(And(
			ContainSubstring("another object"), Not(ContainSubstring(i.Platform))))

		By("deleting nothing with the one that holds nothing")
		env.Remove(ctx, team)
		env.EventuallyGone(ctx, team)
		Expect(i.Peer.Teams()).To(ConsistOf(HaveField("ID", foreign.ID)))
	})

	It("keeps a team that is renamed into it under its old name", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		first, second := i.ReadyTeam(ctx, "First"), i.ReadyTeam(ctx, "Second")
		steps.Change(ctx, env, second, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "First" })
		env.EventuallyTold(ctx, second, v1alpha1.ConditionReady, "False NameConflict")
		Expect(steps.Message(second, v1alpha1.ConditionReady)).To(ContainSubstring(i.Tenant + "/" + first.Name))
		Expect(i.Peer.Teams()).To(ConsistOf(HaveField("Name", "First"), HaveField("Name", "Second")))

		By("getting the name when it is free")
		env.Remove(ctx, first)
		env.EventuallyGone(ctx, first)
		env.EventuallyReady(ctx, second)
		Expect(i.Peer.Teams()).To(ConsistOf(And(HaveField("Name", "First"), HaveField("ID", second.Status.TeamID))))
	})

	It("of an integration whose key somebody else has is left alone", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		team := i.ReadyTeam(ctx, "Payments")
		_, _, err := i.Peer.Model().CreateIntegration(team.Status.TeamID, "alertmanager", "alerts", "")
		Expect(err).NotTo(HaveOccurred())
		i.Peer.ResetRequests()
		s := sample.Source(team, "alerts")
		env.Create(ctx, s)
		env.EventuallyTold(ctx, s, v1alpha1.ConditionReady, "False KeyUnknown")
		Expect(i.Peer.Calls("POST", "PUT", "PATCH", "DELETE")).To(BeEmpty())
	})

	It("of a switch is adopted by whoever holds the team", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		orphan := sample.Switch(a.Team, "orphan")
		peerSwitch(i, a.Team.Status.TeamID, "orphan", orphan.Spec.Matcher)
		i.Peer.ResetRequests()
		env.Create(ctx, orphan)
		env.EventuallyReady(ctx, orphan)
		env.EventuallyEvent(ctx, orphan, HavePrefix("Normal Adopted"))
		Expect(i.Peer.Calls("POST", "DELETE")).To(BeEmpty())
	})
})
