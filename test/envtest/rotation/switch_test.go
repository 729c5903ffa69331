package rotation_test

import (
	"context"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	postSwitch   = "POST /api/teams/{teamID}/deadman-switches"
	deleteSwitch = "DELETE /api/teams/{teamID}/deadman-switches/{switchID}"
)

// neverBare looks at a team's switches until it is told to end, and tells
// whether the team had one all the time.
func (i *install) neverBare(ctx context.Context, teamID int64) (end func() bool) {
	var bare atomic.Bool
	watching, stopWatching := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for watching.Err() == nil {
			if len(i.Peer.Switches(teamID)) == 0 {
				bare.Store(true)
			}
		}
	}()
	return func() bool {
		stopWatching()
		<-ended
		return !bare.Load()
	}
}

var _ = Describe("a dead man's switch", func() {
	var i *install
	var team *v1alpha1.TerdutTeam
	var s *v1alpha1.TerdutDeadmanSwitch
	var before []model.Switch
	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx)
		team = i.ReadyTeam(ctx, "Payments")
		s = sample.Switch(team, "watchdog")
		env.Create(ctx, s)
		env.EventuallyReady(ctx, s)
		before = i.Peer.Switches(team.Status.TeamID)
		i.Peer.ResetRequests()
	})

	It("is replaced without a moment in which the team has none", func(ctx SpecContext) {
		end := i.neverBare(ctx, team.Status.TeamID)
		steps.Change(ctx, env, s, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Severity, s.Spec.Timeout = "warning", "20m" })
		env.EventuallyReady(ctx, s)
		Eventually(func() []string { return i.Peer.Calls("POST", "DELETE") }).Should(
			HaveExactElements(postSwitch, deleteSwitch, postSwitch, deleteSwitch), "a stand-in, and what it stands in for")
		Expect(i.Peer.Switches(team.Status.TeamID)).To(ConsistOf(And(
			HaveField("ID", s.Status.SwitchID), HaveField("Name", "watchdog"), HaveField("Severity", "warning"))))
		Expect(end()).To(BeTrue())
		env.EventuallyEvent(ctx, s, HavePrefix("Warning Recreated"))
	})

	It("stays while the server refuses what the spec asks now", func(ctx SpecContext) {
		end := i.neverBare(ctx, team.Status.TeamID)
		steps.Change(ctx, env, s, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Severity = "critcal" })
		env.EventuallyTold(ctx, s, v1alpha1.ConditionReady, "False Invalid")
		Expect(env.Told(ctx, s, v1alpha1.ConditionStalled)()).To(Equal("True Invalid"))
		Expect(i.Peer.Switches(team.Status.TeamID)).To(Equal(before))
		Expect(s.Status.SwitchID).To(Equal(before[0].ID))

		By("without resetting its timer when the spec goes back")
		steps.Change(ctx, env, s, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Severity, s.Spec.Timeout = "critical", "900s" })
		env.EventuallyReady(ctx, s)
		Expect(i.Peer.Switches(team.Status.TeamID)).To(Equal(before))
		Expect(i.Peer.Calls("DELETE")).To(BeEmpty())
		Expect(end()).To(BeTrue())
	})

	It("keeps what stands in for it while the rest cannot be done", func(ctx SpecContext) {
		end := i.neverBare(ctx, team.Status.TeamID)
		var deleted atomic.Bool
		i.Peer.SetFault(refusePosts(&deleted))
		steps.Change(ctx, env, s, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Matcher = "alertname=Other" })
		Eventually(deleted.Load).Should(BeTrue())
		Eventually(func() []model.Switch { return i.Peer.Switches(team.Status.TeamID) }).Should(ConsistOf(And(
			HaveField("Name", HavePrefix("watchdog-terdut-")), HaveField("Matcher", "alertname=Other"))))
		env.Remove(ctx, s)
		i.Peer.SetFault(nil)
		Expect(end()).To(BeTrue())
		Eventually(func() []model.Switch { return i.Peer.Switches(team.Status.TeamID) }).Should(BeEmpty())
	})
})
