package adoption_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// forge makes an object and gives it, as its own, the record of another one. The
// operator is away until it is done.
func (i *install) forge(ctx context.Context, forger, victim client.Object) {
	GinkgoHelper()
	i.stop()
	Expect(read(ctx, victim)).To(Succeed())
	create(ctx, forger)
	write(ctx, forger, func(s *v1alpha1.RemoteStatus) {
		s.Remote = remoteOf(victim).Remote.DeepCopy()
		s.Remote.OwnerUID = forger.GetUID()
	})
	forger.SetFinalizers([]string{v1alpha1.Finalizer})
	Expect(env.Admin.Update(ctx, forger)).To(Succeed())
	i.peer.ResetRequests()
	i.start()
}

var _ = Describe("an object that two have recorded", func() {
	var i *install
	var a *all

	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx, refserver.Options{})
		a = i.full(ctx)
	})

	DescribeTable("is not written for either, and is nobody's trouble any more when one is deleted", func(
		ctx SpecContext, pick func() (forger, victim client.Object), noun string,
	) {
		forger, victim := pick()
		i.forge(ctx, forger, victim)
		for _, o := range []client.Object{forger, victim} {
			eventuallyTold(ctx, o, v1alpha1.ConditionSynced, "False DuplicateClaim")
			Expect(told(ctx, o, v1alpha1.ConditionStalled)()).To(Equal("True DuplicateClaim"))
		}
		eventuallyTold(ctx, i.server, v1alpha1.ConditionDuplicateClaim, "True DuplicateClaim")
		Expect(message(i.server, v1alpha1.ConditionDuplicateClaim)).To(And(
			ContainSubstring(noun), ContainSubstring(client.ObjectKeyFromObject(forger).String()),
			ContainSubstring(client.ObjectKeyFromObject(victim).String())))
		eventuallyEvent(ctx, i.server, HavePrefix("Warning DuplicateClaim"))
		before := i.stands()

		By("not repairing what drifts")
		Expect(i.peer.RenameTeam(a.team.Status.TeamID, "Drifted")).To(Succeed())
		if victim != client.Object(a.team) { // whose own drift is repaired
			Expect(i.peer.RenameTeam(a.team.Status.TeamID, a.team.Spec.DisplayName)).To(Succeed())
		} else {
			before = i.stands()
		}
		i.rests()
		Expect(i.writes()).To(BeEmpty())
		Expect(i.stands()).To(Equal(before))

		By("deleting the wrong one")
		remove(ctx, forger)
		eventuallyGone(ctx, forger)
		eventuallyReady(ctx, victim)
		Expect(i.peer.Calls("DELETE")).To(BeEmpty())
		Expect(remoteOf(victim).Remote.OwnerUID).To(Equal(victim.GetUID()))
		// Its end is told with what else changes, or within a minute.
		i.give(ctx, v1alpha1.AdoptionLeave{Namespace: "somebody"})
		eventuallyTold(ctx, i.server, v1alpha1.ConditionDuplicateClaim, "")
	},
		Entry("a team", func() (client.Object, client.Object) {
			return i.teamIn(i.tenant, "Forged"), a.team
		}, "team"),
		Entry("an escalation policy", func() (client.Object, client.Object) {
			return rule(a.team, "forged"), a.rule
		}, "escalation policy of team"),
		Entry("a switch", func() (client.Object, client.Object) {
			return deadman(a.team, "forged"), a.deadman
		}, "dead man's switch"),
		Entry("an integration", func() (client.Object, client.Object) {
			return source(a.team, "forged"), a.source
		}, "integration"),
	)

	It("names a holder to its own namespace only", func(ctx SpecContext) {
		other := namespace(ctx, "other")
		forger := i.teamIn(other, "Forged")
		i.forge(ctx, forger, a.team)
		eventuallyTold(ctx, forger, v1alpha1.ConditionSynced, "False DuplicateClaim")
		eventuallyTold(ctx, a.team, v1alpha1.ConditionSynced, "False DuplicateClaim")
		Expect(message(forger, v1alpha1.ConditionSynced)).To(And(ContainSubstring("another object"), Not(ContainSubstring(i.tenant))))
		Expect(message(a.team, v1alpha1.ConditionSynced)).To(And(ContainSubstring("another object"), Not(ContainSubstring(other))))

		By("letting the holder go first: then the object is the other one's, and not deleted")
		i.peer.ResetRequests()
		remove(ctx, a.objects...)
		eventuallyGone(ctx, a.team)
		eventuallyReady(ctx, forger)
		Expect(i.peer.Calls("DELETE")).NotTo(ContainElement("DELETE /api/teams/{teamID}"))
	})

	It("of another team is given up by who has forged it, and stays as it is", func(ctx SpecContext) {
		other := namespace(ctx, "other")
		team := i.readyTeam(ctx, other, "Other")
		before := i.stands()
		forger := deadman(team, "forged")
		i.forge(ctx, forger, a.deadman)
		eventuallyReady(ctx, forger, a.deadman)
		Expect(forger.Status.SwitchID).NotTo(Equal(a.deadman.Status.SwitchID))
		Expect(i.peer.Switches(a.team.Status.TeamID)).To(ConsistOf(HaveField("ID", a.deadman.Status.SwitchID)))
		remove(ctx, forger)
		eventuallyGone(ctx, forger)
		Expect(i.stands()).To(Equal(before))
	})
})
