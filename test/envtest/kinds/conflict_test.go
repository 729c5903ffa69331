package kinds_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var _ = Describe("a name that is taken", func() {
	It("is not touched from another namespace, and adopted from the server's own", func(ctx SpecContext) {
		i := newInstall(ctx)
		foreign, err := i.peer.Model().CreateTeam("Platform")
		Expect(err).NotTo(HaveOccurred())
		i.peer.ResetRequests()
		team := i.team("Platform")
		create(ctx, team)
		eventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		Expect(told(ctx, team, v1alpha1.ConditionStalled)()).To(Equal("True NameConflict"))
		Expect(i.peer.Calls("POST", "PUT", "PATCH", "DELETE")).To(BeEmpty())

		// The older of two has no right on that account.
		own := i.teamIn(i.platform, "Platform")
		create(ctx, own)
		eventuallyReady(ctx, own)
		Expect(own.Status.TeamID).To(Equal(foreign.ID))
		Expect(own.Status.Remote.Adopted).To(BeTrue())
		eventuallyEvent(ctx, own, HavePrefix("Normal Adopted"))
		Expect(i.peer.Teams()).To(HaveLen(1))

		By("not telling one tenant about another")
		eventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		Eventually(func() string { _ = read(ctx, team); return message(team, v1alpha1.ConditionReady) }).Should(And(
			ContainSubstring("another object"), Not(ContainSubstring(i.platform))))

		By("deleting nothing with the one that holds nothing")
		remove(ctx, team)
		eventuallyGone(ctx, team)
		Expect(i.peer.Teams()).To(ConsistOf(HaveField("ID", foreign.ID)))
	})

	It("keeps a team that is renamed into it under its old name", func(ctx SpecContext) {
		i := newInstall(ctx)
		first, second := i.readyTeam(ctx, "First"), i.readyTeam(ctx, "Second")
		change(ctx, second, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "First" })
		eventuallyTold(ctx, second, v1alpha1.ConditionReady, "False NameConflict")
		Expect(message(second, v1alpha1.ConditionReady)).To(ContainSubstring(i.tenant + "/" + first.Name))
		Expect(i.peer.Teams()).To(ConsistOf(HaveField("Name", "First"), HaveField("Name", "Second")))

		By("getting the name when it is free")
		remove(ctx, first)
		eventuallyGone(ctx, first)
		eventuallyReady(ctx, second)
		Expect(i.peer.Teams()).To(ConsistOf(And(HaveField("Name", "First"), HaveField("ID", second.Status.TeamID))))
	})

	It("of an integration whose key somebody else has is left alone", func(ctx SpecContext) {
		i := newInstall(ctx)
		team := i.readyTeam(ctx, "Payments")
		_, _, err := i.peer.Model().CreateIntegration(team.Status.TeamID, "alertmanager", "alerts", "")
		Expect(err).NotTo(HaveOccurred())
		i.peer.ResetRequests()
		s := source(team, "alerts")
		create(ctx, s)
		eventuallyTold(ctx, s, v1alpha1.ConditionReady, "False KeyUnknown")
		Expect(i.peer.Calls("POST", "PUT", "PATCH", "DELETE")).To(BeEmpty())
	})

	It("of a switch is adopted by whoever holds the team", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		orphan := deadman(a.team, "orphan")
		peerSwitch(i, a.team.Status.TeamID, "orphan", orphan.Spec.Matcher)
		i.peer.ResetRequests()
		create(ctx, orphan)
		eventuallyReady(ctx, orphan)
		eventuallyEvent(ctx, orphan, HavePrefix("Normal Adopted"))
		Expect(i.peer.Calls("POST", "DELETE")).To(BeEmpty())
	})
})
