package kinds_test

import (
	"context"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var _ = Describe("an escalation rule", func() {
	It("leaves the policy alone while a user is missing, and names the place", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		id := a.team.Status.TeamID
		before := i.peer.Escalation(id)
		i.peer.ResetRequests()
		change(ctx, a.rule, func(r *v1alpha1.TerdutEscalationRule) {
			r.Spec.Levels = []v1alpha1.EscalationLevel{level("1m"), level("2m", "carol")}
		})
		eventuallyTold(ctx, a.rule, v1alpha1.ConditionReady, "False UserNotFound")
		Expect(message(a.rule, v1alpha1.ConditionReferencesResolved)).To(HavePrefix(`spec.levels[1].targets[1].username: the server has no user "carol"`))
		Expect(i.peer.Calls("PUT")).To(BeEmpty())
		Expect(i.peer.Escalation(id)).To(Equal(before))
		_, _, err := i.peer.AddUser("carol", false)
		Expect(err).NotTo(HaveOccurred())
		eventuallyReady(ctx, a.rule)
		Expect(i.peer.Escalation(id).Levels).To(HaveLen(2))
	})

	It("waits for the rule that the team has, and takes over without a gap", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		id := a.team.Status.TeamID
		second := rule(a.team, "second", level("9m"))
		create(ctx, second)
		eventuallyTold(ctx, second, v1alpha1.ConditionReady, "False WaitingForRule")
		Expect(message(second, v1alpha1.ConditionReady)).To(ContainSubstring(i.tenant + "/rule"))

		var bare atomic.Bool
		watching, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for watching.Err() == nil {
				if len(i.peer.Escalation(id).Levels) == 0 {
					bare.Store(true)
				}
			}
		}()
		remove(ctx, a.rule)
		eventuallyGone(ctx, a.rule)
		eventuallyReady(ctx, second)
		stop()
		<-ended
		Expect(bare.Load()).To(BeFalse(), "the team was without a policy for a moment")
		Expect(i.peer.Escalation(id).Levels[0].Timeout).To(Equal(9 * time.Minute))

		By("clearing the policy with the last rule")
		remove(ctx, second)
		eventuallyGone(ctx, second)
		Expect(i.peer.Escalation(id).Levels).To(BeEmpty())
	})
})
