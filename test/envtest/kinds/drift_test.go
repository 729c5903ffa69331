package kinds_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

var _ = Describe("drift on the server", func() {
	var i *install
	var a *all
	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx)
		a = i.full(ctx)
		i.peer.ResetRequests()
	})

	It("repairs a team that was renamed", func(ctx SpecContext) {
		id := a.team.Status.TeamID
		Expect(i.peer.RenameTeam(id, "Somebody's")).To(Succeed())
		eventuallyEvent(ctx, a.team, And(HavePrefix("Warning DriftCorrected"), ContainSubstring("name")))
		Expect(i.peer.Teams()).To(ConsistOf(And(HaveField("ID", id), HaveField("Name", "Payments"))))
		Expect(i.peer.Calls("POST", "DELETE")).To(BeEmpty())
	})

	It("repairs the groups of a team", func(ctx SpecContext) {
		_, err := i.peer.Model().SetGroups(a.team.Status.TeamID, "strangers", "")
		Expect(err).NotTo(HaveOccurred())
		eventuallyEvent(ctx, a.team, And(HavePrefix("Warning DriftCorrected"), ContainSubstring("oidc.memberGroup")))
		Expect(i.peer.Teams()[0].MemberGroup).To(BeEmpty())
		Expect(i.peer.Calls("POST", "DELETE")).To(BeEmpty())
	})

	It("makes a team that is gone again, and its children follow", func(ctx SpecContext) {
		old := a.team.Status.TeamID
		Expect(i.peer.Model().DeleteTeam(old)).To(Succeed())
		eventuallyEvent(ctx, a.team, HavePrefix("Warning Recreated: team \"Payments\" was gone"))
		Eventually(func() int64 { _ = read(ctx, a.team); return a.team.Status.TeamID }).ShouldNot(Equal(old))
		id := a.team.Status.TeamID
		Eventually(func() int { return len(i.peer.Switches(id)) }).Should(Equal(1))
		Eventually(func() int { return len(i.peer.Escalation(id).Levels) }).Should(Equal(1))
		Eventually(func(g Gomega) {
			g.Expect(read(ctx, a.source)).To(Succeed())
			g.Expect(a.source.Status.Remote.TeamID).To(Equal(id))
		}).Should(Succeed())
		eventuallyReady(ctx, a.objects...)
		Expect(i.peer.Teams()).To(HaveLen(1))
		Expect(i.peer.Integrations(id)).To(HaveLen(1))
	})

	It("repairs a policy", func(ctx SpecContext) {
		id := a.team.Status.TeamID
		_, err := i.peer.Model().PutEscalation(id, model.Policy{RepeatCount: 9, Levels: []model.Level{{TimeoutText: "1m", Targets: []model.Target{{}}}}})
		Expect(err).NotTo(HaveOccurred())
		eventuallyEvent(ctx, a.rule, And(HavePrefix("Warning DriftCorrected"), ContainSubstring("levels[0].timeout, repeatCount")))
		Expect(i.peer.Escalation(id).RepeatCount).To(Equal(2))
	})

	It("makes a switch that is gone again", func(ctx SpecContext) {
		team, old := a.team.Status.TeamID, a.deadman.Status.SwitchID
		Expect(i.peer.Model().DeleteSwitch(team, old)).To(Succeed())
		eventuallyEvent(ctx, a.deadman, HavePrefix("Warning Recreated: dead man's switch \"watchdog\" was gone"))
		Expect(i.peer.Switches(team)).To(ConsistOf(And(HaveField("Name", "watchdog"), Not(HaveField("ID", old)))))
	})

	It("repairs an integration that was renamed, and makes one that is gone again with a new key", func(ctx SpecContext) {
		team, old := a.team.Status.TeamID, a.source.Status.IntegrationID
		_, err := i.peer.Model().RenameIntegration(team, old, "theirs")
		Expect(err).NotTo(HaveOccurred())
		eventuallyEvent(ctx, a.source, And(HavePrefix("Warning DriftCorrected"), ContainSubstring("name")))
		Expect(i.peer.Integrations(team)).To(ConsistOf(HaveField("Name", "alerts")))
		before := webhook(ctx, a.source)
		Expect(i.peer.Model().DeleteIntegration(team, old)).To(Succeed())
		eventuallyEvent(ctx, a.source, HavePrefix("Warning Recreated: integration \"alerts\" was gone"))
		Eventually(func() string { return string(webhook(ctx, a.source).Data["key"]) }).ShouldNot(Equal(string(before.Data["key"])))
		eventuallyReady(ctx, a.source)
		Expect(i.peer.IntegrationID(string(webhook(ctx, a.source).Data["key"]))).To(Equal(a.source.Status.IntegrationID))
		Expect(i.peer.Integrations(team)).To(HaveLen(1))
	})
})

var _ = Describe("a change of the spec", func() {
	It("changes every field of a team in place", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		i.peer.ResetRequests()
		change(ctx, a.team, func(t *v1alpha1.TerdutTeam) {
			t.Spec.DisplayName = "Paying"
			t.Spec.OIDC = &v1alpha1.TeamOIDC{MemberGroup: "payers", OwnerGroup: "owners"}
		})
		eventuallyReady(ctx, a.team)
		Expect(i.peer.Teams()).To(ConsistOf(And(HaveField("ID", a.team.Status.TeamID), HaveField("Name", "Paying"),
			HaveField("MemberGroup", "payers"), HaveField("OwnerGroup", "owners"))))
		Expect(i.peer.Calls("POST", "DELETE")).To(BeEmpty())
		eventuallyEvent(ctx, a.team, And(HavePrefix("Normal Updated"), ContainSubstring("name, oidc.memberGroup, oidc.ownerGroup")))

		By("only the piece that differs")
		i.peer.ResetRequests()
		change(ctx, a.team, func(t *v1alpha1.TerdutTeam) { t.Spec.OIDC.OwnerGroup = "others" })
		eventuallyReady(ctx, a.team)
		Expect(i.peer.Calls("PUT")).To(HaveExactElements("PUT /api/teams/{teamID}/oidc-groups"))
	})

	It("changes every field of a policy, order included", func(ctx SpecContext) {
		i := newInstall(ctx)
		for _, name := range []string{"alice", "bob"} {
			_, _, err := i.peer.AddUser(name, false)
			Expect(err).NotTo(HaveOccurred())
		}
		a := i.full(ctx)
		id := a.team.Status.TeamID
		change(ctx, a.rule, func(r *v1alpha1.TerdutEscalationRule) {
			r.Spec.RepeatCount, r.Spec.FallbackTopic = 5, "nobody"
			r.Spec.Levels = []v1alpha1.EscalationLevel{level("1m", "alice", "bob"), level("2m", "bob")}
		})
		eventuallyReady(ctx, a.rule)
		first := i.peer.Escalation(id)
		Expect(first).To(And(HaveField("RepeatCount", 5), HaveField("FallbackTopic", "nobody"), HaveField("Levels", HaveLen(2))))
		change(ctx, a.rule, func(r *v1alpha1.TerdutEscalationRule) {
			l := r.Spec.Levels
			l[0], l[1] = l[1], l[0]
			l[1].Targets[1], l[1].Targets[2] = l[1].Targets[2], l[1].Targets[1]
		})
		eventuallyReady(ctx, a.rule)
		now := i.peer.Escalation(id)
		Expect(now.Levels[0]).To(Equal(first.Levels[1]))
		Expect(now.Levels[1].Targets).To(HaveExactElements(first.Levels[0].Targets[0], first.Levels[0].Targets[2], first.Levels[0].Targets[1]))
	})

	It("renames an integration and keeps its key", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		before, id := webhook(ctx, a.source), a.source.Status.IntegrationID
		i.peer.ResetRequests()
		change(ctx, a.source, func(s *v1alpha1.TerdutAlertSource) { s.Spec.Name = "renamed" })
		eventuallyReady(ctx, a.source)
		Expect(i.peer.Integrations(a.team.Status.TeamID)).To(ConsistOf(And(HaveField("ID", id), HaveField("Name", "renamed"))))
		Expect(webhook(ctx, a.source).Data).To(Equal(before.Data))
		Expect(i.peer.Calls("POST", "DELETE")).To(BeEmpty())
	})
})
