package rotation_test

import (
	"net/http"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// refusePosts fails every POST of a switch after the first DELETE of one.
func refusePosts(deleted *atomic.Bool) refserver.FaultFunc {
	return func(_ *http.Request, route string) refserver.Fault {
		switch {
		case route == deleteSwitch:
			deleted.Store(true)
		case route == postSwitch && deleted.Load():
			return refserver.JSONError(http.StatusInternalServerError, "internal error")
		}
		return nil
	}
}

var _ = Describe("an update", func() {
	const (
		rename = "PUT /api/teams/{teamID}"
		groups = "PUT /api/teams/{teamID}/oidc-groups"
		policy = "PUT /api/teams/{teamID}/escalation"
	)
	It("of a team sends the piece that differs, once", func(ctx SpecContext) {
		i := newInstall(ctx)
		team := i.ReadyTeam(ctx, "Payments")
		for _, c := range []struct {
			change func(*v1alpha1.TerdutTeam)
			calls  []string
		}{
			{func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Paying" }, []string{rename}},
			{func(t *v1alpha1.TerdutTeam) { t.Spec.OIDC = &v1alpha1.TeamOIDC{MemberGroup: "m", OwnerGroup: "o"} }, []string{groups}},
			{func(t *v1alpha1.TerdutTeam) { t.Spec.OIDC.OwnerGroup = "p" }, []string{groups}},
			{func(t *v1alpha1.TerdutTeam) { t.Spec.OIDC, t.Spec.DisplayName = nil, "Payments" }, []string{groups, rename}},
			{func(t *v1alpha1.TerdutTeam) { t.Spec.OIDC = &v1alpha1.TeamOIDC{} }, nil},
		} {
			i.Peer.ResetRequests()
			steps.Change(ctx, env, team, c.change)
			env.EventuallyReady(ctx, team)
			Expect(i.Peer.Calls("PUT", "POST", "PATCH", "DELETE")).To(ConsistOf(c.calls))
		}
	})

	It("of a policy sends the whole policy, once, and nothing for another spelling", func(ctx SpecContext) {
		i := newInstall(ctx)
		r := sample.Rule(i.ReadyTeam(ctx, "Payments"), "rule", sample.Level("5m"))
		env.Create(ctx, r)
		env.EventuallyReady(ctx, r)
		for _, c := range []struct {
			change func(*v1alpha1.TerdutEscalationRule)
			calls  []string
		}{
			{func(r *v1alpha1.TerdutEscalationRule) { r.Spec.Levels[0].Timeout = "300s" }, nil},
			{func(r *v1alpha1.TerdutEscalationRule) { r.Spec.RepeatCount, r.Spec.FallbackTopic = 3, "ops" }, []string{policy}},
			{func(r *v1alpha1.TerdutEscalationRule) { r.Spec.Levels = append(r.Spec.Levels, sample.Level("1m")) }, []string{policy}},
		} {
			i.Peer.ResetRequests()
			steps.Change(ctx, env, r, c.change)
			env.EventuallyReady(ctx, r)
			Expect(i.Peer.Calls("PUT", "POST", "PATCH", "DELETE")).To(ConsistOf(c.calls))
		}
	})

	It("of a policy waits for a user who has vanished, and leaves the policy as it is", func(ctx SpecContext) {
		i := newInstall(ctx)
		carol, _, err := i.Peer.AddUser("carol", false)
		Expect(err).NotTo(HaveOccurred())
		team := i.ReadyTeam(ctx, "Payments")
		r := sample.Rule(team, "rule", sample.Level("5m", "carol"))
		env.Create(ctx, r)
		env.EventuallyReady(ctx, r)
		Expect(i.Peer.Model().DeleteUser(carol.ID)).To(Succeed())
		left := i.Peer.Escalation(team.Status.TeamID)
		i.Peer.ResetRequests()
		env.EventuallyTold(ctx, r, v1alpha1.ConditionReady, "False UserNotFound")
		Expect(steps.Message(r, v1alpha1.ConditionReferencesResolved)).To(HavePrefix("spec.levels[0].targets[1].username"))

		By("asking no more often than at each resync")
		i.Peer.ResetRequests()
		Eventually(func() int { return len(i.Peer.Requests()) }).Should(BeNumerically(">=", 12))
		Expect(i.Peer.Writes()).To(BeZero())
		Expect(i.Peer.Escalation(team.Status.TeamID)).To(Equal(left))

		By("going on when that user is back, under another ID")
		back, _, err := i.Peer.AddUser("carol", false)
		Expect(err).NotTo(HaveOccurred())
		env.EventuallyReady(ctx, r)
		Expect(i.Peer.Escalation(team.Status.TeamID).Levels[0].Targets).To(ContainElement(model.Target{UserID: back.ID}))
		Expect(i.Peer.Calls("PUT")).To(HaveExactElements(policy))
	})
})
