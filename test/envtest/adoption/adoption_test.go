package adoption_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// printed is the entry that the server prints to its owner.
func (i *install) printed(ctx context.Context) []v1alpha1.AdoptionLeave {
	GinkgoHelper()
	env.EventuallyTold(ctx, i.Server, v1alpha1.ConditionAdoptionRequested, "True AdoptionRequested")
	says := steps.Message(i.Server, v1alpha1.ConditionAdoptionRequested)
	_, text, found := strings.Cut(says, ":\nadopt:\n")
	Expect(found).To(BeTrue(), says)
	var entries []v1alpha1.AdoptionLeave
	Expect(yaml.UnmarshalStrict([]byte(text), &entries)).To(Succeed(), says)
	return entries
}

// give adds entries to what the server's owner allows.
func (i *install) give(ctx context.Context, entries ...v1alpha1.AdoptionLeave) {
	GinkgoHelper()
	steps.Change(ctx, env, i.Server, func(s *v1alpha1.TerdutServer) {
		s.Spec.AllowedTeams.Adopt = append(s.Spec.AllowedTeams.Adopt, entries...)
	})
}

var _ = Describe("a team that was there before", func() {
	var i *install
	var foreign model.Team

	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx, refserver.Options{})
		var err error
		foreign, err = i.Peer.Model().CreateTeam("Platform")
		Expect(err).NotTo(HaveOccurred())
		i.Peer.ResetRequests()
	})

	It("is taken over from another namespace with the entry that the server prints, and not without", func(ctx SpecContext) {
		team := i.Team("Platform")
		env.Create(ctx, team)
		env.EventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		Expect(env.Told(ctx, team, v1alpha1.ConditionStalled)()).To(Equal("True NameConflict"))
		Expect(steps.Message(team, v1alpha1.ConditionReady)).To(ContainSubstring("spec.allowedTeams.adopt"))
		Expect(team.Status.Adoptable).To(HaveValue(Equal(v1alpha1.AdoptableTeam{ID: foreign.ID, Name: "Platform"})))
		entries := i.printed(ctx)
		Expect(entries).To(ConsistOf(v1alpha1.AdoptionLeave{Namespace: i.Tenant, Names: []string{"Platform"}}))
		env.EventuallyEvent(ctx, i.Server, HavePrefix("Warning AdoptionRequested"))
		Expect(i.Server.Status.Conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Reason", "Ready"))), "a tenant cannot make it less")
		Expect(i.writes()).To(BeEmpty())

		i.give(ctx, entries...)
		env.EventuallyReady(ctx, team)
		Expect(team.Status.TeamID).To(Equal(foreign.ID))
		Expect(team.Status.Remote.Adopted).To(BeTrue())
		Expect(team.Status.Adoptable).To(BeNil())
		env.EventuallyEvent(ctx, team, And(HavePrefix("Normal Adopted"), ContainSubstring(`team "Platform"`)))
		env.EventuallyTold(ctx, i.Server, v1alpha1.ConditionAdoptionRequested, "")
		Expect(i.writes()).To(BeEmpty())
		Expect(i.Peer.Teams()).To(HaveLen(1))
	})

	DescribeTable("is not taken over with the leave of", func(ctx SpecContext, leave func() v1alpha1.AdoptionLeave, may bool) {
		i.give(ctx, leave())
		team := i.Team("Platform")
		env.Create(ctx, team)
		if may {
			env.EventuallyReady(ctx, team)
			return
		}
		env.EventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		Expect(i.printed(ctx)).To(ConsistOf(HaveField("Namespace", i.Tenant)))
		Expect(i.writes()).To(BeEmpty())
	},
		Entry("another namespace", func() v1alpha1.AdoptionLeave { return v1alpha1.AdoptionLeave{Namespace: "other"} }, false),
		Entry("another team", func() v1alpha1.AdoptionLeave {
			return v1alpha1.AdoptionLeave{Namespace: i.Tenant, Names: []string{"Payments"}}
		}, false),
		Entry("(but is with that of) every name", func() v1alpha1.AdoptionLeave { return v1alpha1.AdoptionLeave{Namespace: i.Tenant} }, true),
	)

	It("is left alone by adoptionPolicy Never, even in the server's own namespace", func(ctx SpecContext) {
		own := i.TeamIn(i.Platform, "Platform")
		own.Spec.AdoptionPolicy = v1alpha1.AdoptionNever
		env.Create(ctx, own)
		env.EventuallyTold(ctx, own, v1alpha1.ConditionReady, "False NameConflict")
		Expect(steps.Message(own, v1alpha1.ConditionReady)).To(ContainSubstring("adoptionPolicy"))
		i.rests()
		Expect(env.Told(ctx, i.Server, v1alpha1.ConditionAdoptionRequested)()).To(BeEmpty(), "nobody is asked")
		Expect(i.writes()).To(BeEmpty())

		steps.Change(ctx, env, own, func(t *v1alpha1.TerdutTeam) { t.Spec.AdoptionPolicy = v1alpha1.AdoptionAuto })
		env.EventuallyReady(ctx, own)
		Expect(own.Status.TeamID).To(Equal(foreign.ID))
	})

	It("tells who has written over what somebody else had set", func(ctx SpecContext) {
		_, err := i.Peer.Model().SetGroups(foreign.ID, "theirs", "")
		Expect(err).NotTo(HaveOccurred())
		_, err = i.Peer.Model().PutEscalation(foreign.ID, model.Policy{Levels: []model.Level{{TimeoutText: "9m", Targets: []model.Target{{}}}}})
		Expect(err).NotTo(HaveOccurred())
		own := i.ReadyTeamIn(ctx, i.Platform, "Platform")
		env.EventuallyEvent(ctx, own, And(HavePrefix("Warning Overwritten"), ContainSubstring("oidc.memberGroup")))
		r := sample.Rule(own, "rule")
		env.Create(ctx, r)
		env.EventuallyReady(ctx, r)
		Expect(r.Status.Remote.Adopted).To(BeTrue())
		env.EventuallyEvent(ctx, r, HavePrefix("Normal Adopted"))
		env.EventuallyEvent(ctx, r, And(HavePrefix("Warning Overwritten"), ContainSubstring("levels[0].timeout")))
	})

	It("goes to one of two that want it at the same time, and the other touches nothing", func(ctx SpecContext) {
		second := namespace(ctx, "second")
		i.give(ctx, v1alpha1.AdoptionLeave{Namespace: i.Tenant}, v1alpha1.AdoptionLeave{Namespace: second})
		i.stop()
		one, two := i.Team("Platform"), i.TeamIn(second, "Platform")
		env.Create(ctx, one, two)
		i.start()
		Eventually(func() []string {
			return []string{env.Told(ctx, one, v1alpha1.ConditionReady)(), env.Told(ctx, two, v1alpha1.ConditionReady)()}
		}).Should(ConsistOf("True Ready", "False NameConflict"))
		i.rests()
		Expect(i.writes()).To(BeEmpty())
	})
})

var _ = Describe("a team of another tenant", func() {
	It("stays with its holder when an older one is renamed onto it, which keeps its own", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		other := namespace(ctx, "other")
		older, newer := i.ReadyTeam(ctx, "Older"), i.ReadyTeamIn(ctx, other, "Newer")
		steps.Change(ctx, env, older, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Newer" })
		env.EventuallyTold(ctx, older, v1alpha1.ConditionReady, "False NameConflict")
		Expect(steps.Message(older, v1alpha1.ConditionReady)).To(And(ContainSubstring("another object"), Not(ContainSubstring(other))))
		i.rests()
		Expect(i.Peer.Teams()).To(ConsistOf(
			And(HaveField("Name", "Older"), HaveField("ID", older.Status.TeamID)),
			And(HaveField("Name", "Newer"), HaveField("ID", newer.Status.TeamID))))
		Expect(env.Told(ctx, newer, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
	})
})

var _ = Describe("what holds nothing", func() {
	It("deletes nothing", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		a := i.full(ctx)
		_, _, err := i.Peer.Model().CreateIntegration(a.Team.Status.TeamID, "alertmanager", "theirs", "")
		Expect(err).NotTo(HaveOccurred())
		before := i.stands()
		team, waiting := i.Team("Payments"), sample.Rule(a.Team, "waiting")
		twin, keyless := deadman(a.Team, "twin"), sample.Source(a.Team, "keyless")
		twin.Spec.Name, keyless.Spec.Name = "watch", "theirs"
		env.Create(ctx, team, waiting, twin, keyless)
		env.EventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		env.EventuallyTold(ctx, waiting, v1alpha1.ConditionReady, "False WaitingForRule")
		env.EventuallyTold(ctx, twin, v1alpha1.ConditionReady, "False NameConflict")
		env.EventuallyTold(ctx, keyless, v1alpha1.ConditionReady, "False KeyUnknown")
		i.Peer.ResetRequests()
		env.Remove(ctx, team, waiting, twin, keyless)
		env.EventuallyGone(ctx, team, waiting, twin, keyless)
		Expect(i.writes()).To(BeEmpty())
		Expect(i.stands()).To(Equal(before))
	})
})
