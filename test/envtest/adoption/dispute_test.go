package adoption_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// forge makes an object and gives it, as its own, the record of another one. The
// operator is away until it is done.
func (i *install) forge(ctx context.Context, forger, victim client.Object) {
	GinkgoHelper()
	i.stop()
	Expect(env.Read(ctx, victim)).To(Succeed())
	env.Create(ctx, forger)
	write(ctx, forger, func(s *v1alpha1.RemoteStatus) {
		s.Remote = refs.RemoteOf(victim).Remote.DeepCopy()
		s.Remote.OwnerUID = forger.GetUID()
	})
	forger.SetFinalizers([]string{v1alpha1.Finalizer})
	Expect(env.Admin.Update(ctx, forger)).To(Succeed())
	i.Peer.ResetRequests()
	i.start()
}

var _ = Describe("an object that two have recorded", func() {
	var i *install
	var a *sample.Full

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
			env.EventuallyTold(ctx, o, v1alpha1.ConditionSynced, "False DuplicateClaim")
			Expect(env.Told(ctx, o, v1alpha1.ConditionStalled)()).To(Equal("True DuplicateClaim"))
		}
		env.EventuallyTold(ctx, i.Server, v1alpha1.ConditionDuplicateClaim, "True DuplicateClaim")
		Expect(steps.Message(i.Server, v1alpha1.ConditionDuplicateClaim)).To(And(
			ContainSubstring(noun), ContainSubstring(client.ObjectKeyFromObject(forger).String()),
			ContainSubstring(client.ObjectKeyFromObject(victim).String())))
		env.EventuallyEvent(ctx, i.Server, HavePrefix("Warning DuplicateClaim"))
		before := i.stands()

		By("not repairing what drifts")
		Expect(i.Peer.RenameTeam(a.Team.Status.TeamID, "Drifted")).To(Succeed())
		if victim != client.Object(a.Team) { // whose own drift is repaired
			Expect(i.Peer.RenameTeam(a.Team.Status.TeamID, a.Team.Spec.DisplayName)).To(Succeed())
		} else {
			before = i.stands()
		}
		i.rests()
		Expect(i.writes()).To(BeEmpty())
		Expect(i.stands()).To(Equal(before))

		By("deleting the wrong one")
		env.Remove(ctx, forger)
		env.EventuallyGone(ctx, forger)
		env.EventuallyReady(ctx, victim)
		Expect(i.Peer.Calls("DELETE")).To(BeEmpty())
		Expect(refs.RemoteOf(victim).Remote.OwnerUID).To(Equal(victim.GetUID()))
		// Its end is told with what else changes, or within a minute.
		i.give(ctx, v1alpha1.AdoptionLeave{Namespace: "somebody"})
		env.EventuallyTold(ctx, i.Server, v1alpha1.ConditionDuplicateClaim, "")
	},
		Entry("a team", func() (client.Object, client.Object) {
			return i.Team("Forged"), a.Team
		}, "team"),
		Entry("an escalation policy", func() (client.Object, client.Object) {
			return sample.Rule(a.Team, "forged"), a.Rule
		}, "escalation policy of team"),
		Entry("a switch", func() (client.Object, client.Object) {
			return deadman(a.Team, "forged"), a.Switch
		}, "dead man's switch"),
		Entry("an integration", func() (client.Object, client.Object) {
			return sample.Source(a.Team, "forged"), a.Source
		}, "integration"),
	)

	It("names a holder to its own namespace only", func(ctx SpecContext) {
		other := namespace(ctx, "other")
		forger := i.TeamIn(other, "Forged")
		i.forge(ctx, forger, a.Team)
		env.EventuallyTold(ctx, forger, v1alpha1.ConditionSynced, "False DuplicateClaim")
		env.EventuallyTold(ctx, a.Team, v1alpha1.ConditionSynced, "False DuplicateClaim")
		Expect(steps.Message(forger, v1alpha1.ConditionSynced)).To(And(ContainSubstring("another object"), Not(ContainSubstring(i.Tenant))))
		Expect(steps.Message(a.Team, v1alpha1.ConditionSynced)).To(And(ContainSubstring("another object"), Not(ContainSubstring(other))))

		By("letting the holder go first: then the object is the other one's, and not deleted")
		i.Peer.ResetRequests()
		env.Remove(ctx, a.Objects()...)
		env.EventuallyGone(ctx, a.Team)
		env.EventuallyReady(ctx, forger)
		Expect(i.Peer.Calls("DELETE")).NotTo(ContainElement("DELETE /api/teams/{teamID}"))
	})

	It("of another team is given up by who has forged it, and stays as it is", func(ctx SpecContext) {
		other := namespace(ctx, "other")
		team := i.ReadyTeamIn(ctx, other, "Other")
		before := i.stands()
		forger := deadman(team, "forged")
		i.forge(ctx, forger, a.Switch)
		env.EventuallyReady(ctx, forger, a.Switch)
		Expect(forger.Status.SwitchID).NotTo(Equal(a.Switch.Status.SwitchID))
		Expect(i.Peer.Switches(a.Team.Status.TeamID)).To(ConsistOf(HaveField("ID", a.Switch.Status.SwitchID)))
		env.Remove(ctx, forger)
		env.EventuallyGone(ctx, forger)
		Expect(i.stands()).To(Equal(before))
	})
})
