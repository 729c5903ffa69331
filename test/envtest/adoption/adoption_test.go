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
)

// printed is the entry that the server prints to its owner.
func (i *install) printed(ctx context.Context) []v1alpha1.AdoptionLeave {
	GinkgoHelper()
	eventuallyTold(ctx, i.server, v1alpha1.ConditionAdoptionRequested, "True AdoptionRequested")
	says := message(i.server, v1alpha1.ConditionAdoptionRequested)
	_, text, found := strings.Cut(says, ":\nadopt:\n")
	Expect(found).To(BeTrue(), says)
	var entries []v1alpha1.AdoptionLeave
	Expect(yaml.UnmarshalStrict([]byte(text), &entries)).To(Succeed(), says)
	return entries
}

// give adds entries to what the server's owner allows.
func (i *install) give(ctx context.Context, entries ...v1alpha1.AdoptionLeave) {
	GinkgoHelper()
	change(ctx, i.server, func(s *v1alpha1.TerdutServer) {
		s.Spec.AllowedTeams.Adopt = append(s.Spec.AllowedTeams.Adopt, entries...)
	})
}

var _ = Describe("a team that was there before", func() {
	var i *install
	var foreign model.Team

	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx, refserver.Options{})
		var err error
		foreign, err = i.peer.Model().CreateTeam("Platform")
		Expect(err).NotTo(HaveOccurred())
		i.peer.ResetRequests()
	})

	It("is taken over from another namespace with the entry that the server prints, and not without", func(ctx SpecContext) {
		team := i.teamIn(i.tenant, "Platform")
		create(ctx, team)
		eventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		Expect(told(ctx, team, v1alpha1.ConditionStalled)()).To(Equal("True NameConflict"))
		Expect(message(team, v1alpha1.ConditionReady)).To(ContainSubstring("spec.allowedTeams.adopt"))
		Expect(team.Status.Adoptable).To(HaveValue(Equal(v1alpha1.AdoptableTeam{ID: foreign.ID, Name: "Platform"})))
		entries := i.printed(ctx)
		Expect(entries).To(ConsistOf(v1alpha1.AdoptionLeave{Namespace: i.tenant, Names: []string{"Platform"}}))
		eventuallyEvent(ctx, i.server, HavePrefix("Warning AdoptionRequested"))
		Expect(i.server.Status.Conditions).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Reason", "Ready"))), "a tenant cannot make it less")
		Expect(i.writes()).To(BeEmpty())

		i.give(ctx, entries...)
		eventuallyReady(ctx, team)
		Expect(team.Status.TeamID).To(Equal(foreign.ID))
		Expect(team.Status.Remote.Adopted).To(BeTrue())
		Expect(team.Status.Adoptable).To(BeNil())
		eventuallyEvent(ctx, team, And(HavePrefix("Normal Adopted"), ContainSubstring(`team "Platform"`)))
		eventuallyTold(ctx, i.server, v1alpha1.ConditionAdoptionRequested, "")
		Expect(i.writes()).To(BeEmpty())
		Expect(i.peer.Teams()).To(HaveLen(1))
	})

	DescribeTable("is not taken over with the leave of", func(ctx SpecContext, leave func() v1alpha1.AdoptionLeave, may bool) {
		i.give(ctx, leave())
		team := i.teamIn(i.tenant, "Platform")
		create(ctx, team)
		if may {
			eventuallyReady(ctx, team)
			return
		}
		eventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		Expect(i.printed(ctx)).To(ConsistOf(HaveField("Namespace", i.tenant)))
		Expect(i.writes()).To(BeEmpty())
	},
		Entry("another namespace", func() v1alpha1.AdoptionLeave { return v1alpha1.AdoptionLeave{Namespace: "other"} }, false),
		Entry("another team", func() v1alpha1.AdoptionLeave {
			return v1alpha1.AdoptionLeave{Namespace: i.tenant, Names: []string{"Payments"}}
		}, false),
		Entry("(but is with that of) every name", func() v1alpha1.AdoptionLeave { return v1alpha1.AdoptionLeave{Namespace: i.tenant} }, true),
	)

	It("is left alone by adoptionPolicy Never, even in the server's own namespace", func(ctx SpecContext) {
		own := i.teamIn(i.platform, "Platform")
		own.Spec.AdoptionPolicy = v1alpha1.AdoptionNever
		create(ctx, own)
		eventuallyTold(ctx, own, v1alpha1.ConditionReady, "False NameConflict")
		Expect(message(own, v1alpha1.ConditionReady)).To(ContainSubstring("adoptionPolicy"))
		i.rests()
		Expect(told(ctx, i.server, v1alpha1.ConditionAdoptionRequested)()).To(BeEmpty(), "nobody is asked")
		Expect(i.writes()).To(BeEmpty())

		change(ctx, own, func(t *v1alpha1.TerdutTeam) { t.Spec.AdoptionPolicy = v1alpha1.AdoptionAuto })
		eventuallyReady(ctx, own)
		Expect(own.Status.TeamID).To(Equal(foreign.ID))
	})

	It("tells who has written over what somebody else had set", func(ctx SpecContext) {
		_, err := i.peer.Model().SetGroups(foreign.ID, "theirs", "")
		Expect(err).NotTo(HaveOccurred())
		_, err = i.peer.Model().PutEscalation(foreign.ID, model.Policy{Levels: []model.Level{{TimeoutText: "9m", Targets: []model.Target{{}}}}})
		Expect(err).NotTo(HaveOccurred())
		own := i.readyTeam(ctx, i.platform, "Platform")
		eventuallyEvent(ctx, own, And(HavePrefix("Warning Overwritten"), ContainSubstring("oidc.memberGroup")))
		r := rule(own, "rule")
		create(ctx, r)
		eventuallyReady(ctx, r)
		Expect(r.Status.Remote.Adopted).To(BeTrue())
		eventuallyEvent(ctx, r, HavePrefix("Normal Adopted"))
		eventuallyEvent(ctx, r, And(HavePrefix("Warning Overwritten"), ContainSubstring("levels[0].timeout")))
	})

	It("goes to one of two that want it at the same time, and the other touches nothing", func(ctx SpecContext) {
		second := namespace(ctx, "second")
		i.give(ctx, v1alpha1.AdoptionLeave{Namespace: i.tenant}, v1alpha1.AdoptionLeave{Namespace: second})
		i.stop()
		one, two := i.teamIn(i.tenant, "Platform"), i.teamIn(second, "Platform")
		create(ctx, one, two)
		i.start()
		Eventually(func() []string {
			return []string{told(ctx, one, v1alpha1.ConditionReady)(), told(ctx, two, v1alpha1.ConditionReady)()}
		}).Should(ConsistOf("True Ready", "False NameConflict"))
		i.rests()
		Expect(i.writes()).To(BeEmpty())
	})
})

var _ = Describe("a team of another tenant", func() {
	It("stays with its holder when an older one is renamed onto it, which keeps its own", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		other := namespace(ctx, "other")
		older, newer := i.readyTeam(ctx, i.tenant, "Older"), i.readyTeam(ctx, other, "Newer")
		change(ctx, older, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Newer" })
		eventuallyTold(ctx, older, v1alpha1.ConditionReady, "False NameConflict")
		Expect(message(older, v1alpha1.ConditionReady)).To(And(ContainSubstring("another object"), Not(ContainSubstring(other))))
		i.rests()
		Expect(i.peer.Teams()).To(ConsistOf(
			And(HaveField("Name", "Older"), HaveField("ID", older.Status.TeamID)),
			And(HaveField("Name", "Newer"), HaveField("ID", newer.Status.TeamID))))
		Expect(told(ctx, newer, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
	})
})

var _ = Describe("what holds nothing", func() {
	It("deletes nothing", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		a := i.full(ctx)
		_, _, err := i.peer.Model().CreateIntegration(a.team.Status.TeamID, "alertmanager", "theirs", "")
		Expect(err).NotTo(HaveOccurred())
		before := i.stands()
		team, waiting := i.teamIn(i.tenant, "Payments"), rule(a.team, "waiting")
		twin, keyless := deadman(a.team, "twin"), source(a.team, "keyless")
		twin.Spec.Name, keyless.Spec.Name = "watch", "theirs"
		create(ctx, team, waiting, twin, keyless)
		eventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		eventuallyTold(ctx, waiting, v1alpha1.ConditionReady, "False WaitingForRule")
		eventuallyTold(ctx, twin, v1alpha1.ConditionReady, "False NameConflict")
		eventuallyTold(ctx, keyless, v1alpha1.ConditionReady, "False KeyUnknown")
		i.peer.ResetRequests()
		remove(ctx, team, waiting, twin, keyless)
		eventuallyGone(ctx, team, waiting, twin, keyless)
		Expect(i.writes()).To(BeEmpty())
		Expect(i.stands()).To(Equal(before))
	})
})
