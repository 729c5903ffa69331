package kinds_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("drift on the server", func() {
	var i *steps.Install
	var a *sample.Full
	BeforeEach(func(ctx SpecContext) {
		i = env.ReadyInstall(ctx, refserver.Options{})
		a = i.Full(ctx)
		i.Peer.ResetRequests()
	})

	It("repairs a team that was renamed", func(ctx SpecContext) {
		id := a.Team.Status.TeamID
		Expect(i.Peer.RenameTeam(id, "Somebody's")).To(Succeed())
		env.EventuallyEvent(ctx, a.Team, And(HavePrefix("Warning DriftCorrected"), ContainSubstring("name")))
		Expect(i.Peer.Teams()).To(ConsistOf(And(HaveField("ID", id), HaveField("Name", "Payments"))))
		Expect(i.Peer.Calls("POST", "DELETE")).To(BeEmpty())
	})

	It("repairs the groups of a team", func(ctx SpecContext) {
		_, err := i.Peer.Model().SetGroups(a.Team.Status.TeamID, "strangers", "")
		Expect(err).NotTo(HaveOccurred())
		env.EventuallyEvent(ctx, a.Team, And(HavePrefix("Warning DriftCorrected"), ContainSubstring("oidc.memberGroup")))
		Expect(i.Peer.Teams()[0].MemberGroup).To(BeEmpty())
		Expect(i.Peer.Calls("POST", "DELETE")).To(BeEmpty())
	})

	It("makes a team that is gone again, and its children follow", func(ctx SpecContext) {
		old := a.Team.Status.TeamID
		Expect(i.Peer.Model().DeleteTeam(old)).To(Succeed())
		env.EventuallyEvent(ctx, a.Team, HavePrefix("Warning Recreated: team \"Payments\" was gone"))
		Eventually(func() int64 { _ = env.Read(ctx, a.Team); return a.Team.Status.TeamID }).ShouldNot(Equal(old))
		id := a.Team.Status.TeamID
		Eventually(func() int { return len(i.Peer.Switches(id)) }).Should(Equal(1))
		Eventually(func() int { return len(i.Peer.Escalation(id).Levels) }).Should(Equal(1))
		Eventually(func(g Gomega) {
			g.Expect(env.Read(ctx, a.Source)).To(Succeed())
			g.Expect(a.Source.Status.Remote.TeamID).To(Equal(id))
		}).Should(Succeed())
		env.EventuallyReady(ctx, a.Objects()...)
		Expect(i.Peer.Teams()).To(HaveLen(1))
		Expect(i.Peer.Integrations(id)).To(HaveLen(1))
	})

	It("repairs a policy", func(ctx SpecContext) {
		id := a.Team.Status.TeamID
		_, err := i.Peer.Model().PutEscalation(id, model.Policy{RepeatCount: 9, Levels: []model.Level{{TimeoutText: "1m", Targets: []model.Target{{}}}}})
		Expect(err).NotTo(HaveOccurred())
		env.EventuallyEvent(ctx, a.Rule, And(HavePrefix("Warning DriftCorrected"), ContainSubstring("levels[0].timeout, repeatCount")))
		Expect(i.Peer.Escalation(id).RepeatCount).To(Equal(2))
	})

	It("makes a switch that is gone again", func(ctx SpecContext) {
		team, old := a.Team.Status.TeamID, a.Switch.Status.SwitchID
		Expect(i.Peer.Model().DeleteSwitch(team, old)).To(Succeed())
		env.EventuallyEvent(ctx, a.Switch, HavePrefix("Warning Recreated: dead man's switch \"watchdog\" was gone"))
		Expect(i.Peer.Switches(team)).To(ConsistOf(And(HaveField("Name", "watchdog"), Not(HaveField("ID", old)))))
	})

	It("repairs an integration that was renamed, and makes one that is gone again with a new key", func(ctx SpecContext) {
		team, old := a.Team.Status.TeamID, a.Source.Status.IntegrationID
		_, err := i.Peer.Model().RenameIntegration(team, old, "theirs")
		Expect(err).NotTo(HaveOccurred())
		env.EventuallyEvent(ctx, a.Source, And(HavePrefix("Warning DriftCorrected"), ContainSubstring("name")))
		Expect(i.Peer.Integrations(team)).To(ConsistOf(HaveField("Name", "alerts")))
		before := webhook(ctx, a.Source)
		Expect(i.Peer.Model().DeleteIntegration(team, old)).To(Succeed())
		env.EventuallyEvent(ctx, a.Source, HavePrefix("Warning Recreated: integration \"alerts\" was gone"))
		Eventually(func() string { return string(webhook(ctx, a.Source).Data["key"]) }).ShouldNot(Equal(string(before.Data["key"])))
		env.EventuallyReady(ctx, a.Source)
		Expect(i.Peer.IntegrationID(string(webhook(ctx, a.Source).Data["key"]))).To(Equal(a.Source.Status.IntegrationID))
		Expect(i.Peer.Integrations(team)).To(HaveLen(1))
	})
})

var _ = Describe("a change of the spec", func() {
	It("changes every field of a team in place", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		i.Peer.ResetRequests()
		steps.Change(ctx, env, a.Team, func(t *v1alpha1.TerdutTeam) {
			t.Spec.DisplayName = "Paying"
			t.Spec.OIDC = &v1alpha1.TeamOIDC{MemberGroup: "payers", OwnerGroup: "owners"}
		})
		env.EventuallyReady(ctx, a.Team)
		Expect(i.Peer.Teams()).To(ConsistOf(And(HaveField("ID", a.Team.Status.TeamID), HaveField("Name", "Paying"),
			HaveField("MemberGroup", "payers"), HaveField("OwnerGroup", "owners"))))
		Expect(i.Peer.Calls("POST", "DELETE")).To(BeEmpty())
		env.EventuallyEvent(ctx, a.Team, And(HavePrefix("Normal Updated"), ContainSubstring("name, oidc.memberGroup, oidc.ownerGroup")))

		By("only the piece that differs")
		i.Peer.ResetRequests()
		steps.Change(ctx, env, a.Team, func(t *v1alpha1.TerdutTeam) { t.Spec.OIDC.OwnerGroup = "others" })
		env.EventuallyReady(ctx, a.Team)
		Expect(i.Peer.Calls("PUT")).To(HaveExactElements("PUT /api/teams/{teamID}/oidc-groups"))
	})

	It("changes every field of a policy, order included", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		for _, name := range []string{"alice", "bob"} {
			_, _, err := i.Peer.AddUser(name, false)
			Expect(err).NotTo(HaveOccurred())
		}
		a := i.Full(ctx)
		id := a.Team.Status.TeamID
		steps.Change(ctx, env, a.Rule, func(r *v1alpha1.TerdutEscalationRule) {
			r.Spec.RepeatCount, r.Spec.FallbackTopic = 5, "nobody"
			r.Spec.Levels = []v1alpha1.EscalationLevel{sample.Level("1m", "alice", "bob"), sample.Level("2m", "bob")}
		})
		env.EventuallyReady(ctx, a.Rule)
		first := i.Peer.Escalation(id)
		Expect(first).To(And(HaveField("RepeatCount", 5), HaveField("FallbackTopic", "nobody"), HaveField("Levels", HaveLen(2))))
		steps.Change(ctx, env, a.Rule, func(r *v1alpha1.TerdutEscalationRule) {
			l := r.Spec.Levels
			l[0], l[1] = l[1], l[0]
			l[1].Targets[1], l[1].Targets[2] = l[1].Targets[2], l[1].Targets[1]
		})
		env.EventuallyReady(ctx, a.Rule)
		now := i.Peer.Escalation(id)
		Expect(now.Levels[0]).To(Equal(first.Levels[1]))
		Expect(now.Levels[1].Targets).To(HaveExactElements(first.Levels[0].Targets[0], first.Levels[0].Targets[2], first.Levels[0].Targets[1]))
	})

	It("renames an integration and keeps its key", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		before, id := webhook(ctx, a.Source), a.Source.Status.IntegrationID
		i.Peer.ResetRequests()
		steps.Change(ctx, env, a.Source, func(s *v1alpha1.TerdutAlertSource) { s.Spec.Name = "renamed" })
		env.EventuallyReady(ctx, a.Source)
		Expect(i.Peer.Integrations(a.Team.Status.TeamID)).To(ConsistOf(And(HaveField("ID", id), HaveField("Name", "renamed"))))
		Expect(webhook(ctx, a.Source).Data).To(Equal(before.Data))
		Expect(i.Peer.Calls("POST", "DELETE")).To(BeEmpty())
	})
})
