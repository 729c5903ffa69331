package kinds_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("an escalation rule", func() {
	It("leaves the policy alone while a user is missing, and names the place", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		id := a.Team.Status.TeamID
		before := i.Peer.Escalation(id)
		i.Peer.ResetRequests()
		steps.Change(ctx, env, a.Rule, func(r *v1alpha1.TerdutEscalationRule) {
			r.Spec.Levels = []v1alpha1.EscalationLevel{sample.Level("1m"), sample.Level("2m", "carol")}
		})
		env.EventuallyTold(ctx, a.Rule, v1alpha1.ConditionReady, "False UserNotFound")
		Expect(steps.Message(a.Rule, v1alpha1.ConditionReferencesResolved)).To(HavePrefix(`spec.levels[1].targets[1].username: the server has no user "carol"`))
		Expect(i.Peer.Calls("PUT")).To(BeEmpty())
		Expect(i.Peer.Escalation(id)).To(Equal(before))
		_, _, err := i.Peer.AddUser("carol", false)
		Expect(err).NotTo(HaveOccurred())
		env.EventuallyReady(ctx, a.Rule)
		Expect(i.Peer.Escalation(id).Levels).To(HaveLen(2))
	})

	It("waits for the rule that the team has, and takes over without a gap", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		id := a.Team.Status.TeamID
		second := sample.Rule(a.Team, "second", sample.Level("9m"))
		env.Create(ctx, second)
		env.EventuallyTold(ctx, second, v1alpha1.ConditionReady, "False WaitingForRule")
		Expect(steps.Message(second, v1alpha1.ConditionReady)).To(ContainSubstring(i.Tenant + "/rule"))

		var bare atomic.Bool
		watching, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for watching.Err() == nil {
				if len(i.Peer.Escalation(id).Levels) == 0 {
					bare.Store(true)
				}
			}
		}()
		env.Remove(ctx, a.Rule)
		env.EventuallyGone(ctx, a.Rule)
		env.EventuallyReady(ctx, second)
		stop()
		<-ended
		Expect(bare.Load()).To(BeFalse(), "the team was without a policy for a moment")
		Expect(i.Peer.Escalation(id).Levels[0].Timeout).To(Equal(9 * time.Minute))

		By("clearing the policy with the last rule")
		env.Remove(ctx, second)
		env.EventuallyGone(ctx, second)
		Expect(i.Peer.Escalation(id).Levels).To(BeEmpty())
	})
})
