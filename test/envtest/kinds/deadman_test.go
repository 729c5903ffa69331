package kinds_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	postSwitch   = "POST /api/teams/{teamID}/deadman-switches"
	deleteSwitch = "DELETE /api/teams/{teamID}/deadman-switches/{switchID}"
)

var _ = Describe("a dead man's switch", func() {
	var i *steps.Install
	var a *sample.Full
	BeforeEach(func(ctx SpecContext) {
		i = env.ReadyInstall(ctx, refserver.Options{})
		a = i.Full(ctx)
		i.Peer.ResetRequests()
	})

	It("is left alone when only the spelling changes", func(ctx SpecContext) {
		steps.Change(ctx, env, a.Switch, func(s *v1alpha1.TerdutDeadmanSwitch) {
			s.Spec.Matcher, s.Spec.Timeout = ` team = watchdog , alertname="Watchdog"`, "900s"
		})
		env.EventuallyReady(ctx, a.Switch)
		Expect(a.Switch.Status.ObservedGeneration).To(Equal(a.Switch.Generation))
		Expect(i.Peer.Calls("POST", "DELETE")).To(BeEmpty())
	})

	It("is made again when what it listens to changes", func(ctx SpecContext) {
		steps.Change(ctx, env, a.Switch, func(s *v1alpha1.TerdutDeadmanSwitch) {
			s.Spec.Matcher, s.Spec.Timeout, s.Spec.Severity = "alertname=Other", "20m", "warning"
		})
		env.EventuallyReady(ctx, a.Switch)
		// An equal one stands in while the old one makes way.
		Eventually(func() []string { return i.Peer.Calls("POST", "DELETE") }).Should(
			HaveExactElements(postSwitch, deleteSwitch, postSwitch, deleteSwitch))
		Expect(i.Peer.Switches(a.Team.Status.TeamID)).To(ConsistOf(And(
			HaveField("ID", a.Switch.Status.SwitchID), HaveField("Matcher", "alertname=Other"), HaveField("Severity", "warning"))))
		env.EventuallyEvent(ctx, a.Switch, HavePrefix("Warning Recreated"))
	})

	It("is made under its new name before the old one goes", func(ctx SpecContext) {
		steps.Change(ctx, env, a.Switch, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Name = "renamed" })
		env.EventuallyReady(ctx, a.Switch)
		Eventually(func() []string { return i.Peer.Calls("POST", "DELETE") }).Should(HaveExactElements(postSwitch, deleteSwitch))
		Expect(i.Peer.Switches(a.Team.Status.TeamID)).To(ConsistOf(HaveField("Name", "renamed")))
		Expect(a.Switch.Status.Retiring).To(BeEmpty())
	})

	It("can be corrected after the server has refused it", func(ctx SpecContext) {
		s := sample.Switch(a.Team, "typo")
		s.Spec.Severity = "critcal"
		env.Create(ctx, s)
		env.EventuallyTold(ctx, s, v1alpha1.ConditionReady, "False Invalid")
		Expect(steps.Message(s, v1alpha1.ConditionReady)).To(ContainSubstring("severity must be one of"))
		steps.Change(ctx, env, s, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Severity = "critical" })
		env.EventuallyReady(ctx, s)
		Expect(i.Peer.Switches(a.Team.Status.TeamID)).To(HaveLen(2))
	})
})
