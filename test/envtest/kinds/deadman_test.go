package kinds_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

const (
	postSwitch   = "POST /api/teams/{teamID}/deadman-switches"
	deleteSwitch = "DELETE /api/teams/{teamID}/deadman-switches/{switchID}"
)

var _ = Describe("a dead man's switch", func() {
	var i *install
	var a *all
	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx)
		a = i.full(ctx)
		i.peer.ResetRequests()
	})

	It("is left alone when only the spelling changes", func(ctx SpecContext) {
		change(ctx, a.deadman, func(s *v1alpha1.TerdutDeadmanSwitch) {
			s.Spec.Matcher, s.Spec.Timeout = ` team = watchdog , alertname="Watchdog"`, "900s"
		})
		eventuallyReady(ctx, a.deadman)
		Expect(a.deadman.Status.ObservedGeneration).To(Equal(a.deadman.Generation))
		Expect(i.peer.Calls("POST", "DELETE")).To(BeEmpty())
	})

	It("is made again when what it listens to changes", func(ctx SpecContext) {
		change(ctx, a.deadman, func(s *v1alpha1.TerdutDeadmanSwitch) {
			s.Spec.Matcher, s.Spec.Timeout, s.Spec.Severity = "alertname=Other", "20m", "warning"
		})
		eventuallyReady(ctx, a.deadman)
		// An equal one stands in while the old one makes way.
		Eventually(func() []string { return i.peer.Calls("POST", "DELETE") }).Should(
			HaveExactElements(postSwitch, deleteSwitch, postSwitch, deleteSwitch))
		Expect(i.peer.Switches(a.team.Status.TeamID)).To(ConsistOf(And(
			HaveField("ID", a.deadman.Status.SwitchID), HaveField("Matcher", "alertname=Other"), HaveField("Severity", "warning"))))
		eventuallyEvent(ctx, a.deadman, HavePrefix("Warning Recreated"))
	})

	It("is made under its new name before the old one goes", func(ctx SpecContext) {
		change(ctx, a.deadman, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Name = "renamed" })
		eventuallyReady(ctx, a.deadman)
		Eventually(func() []string { return i.peer.Calls("POST", "DELETE") }).Should(HaveExactElements(postSwitch, deleteSwitch))
		Expect(i.peer.Switches(a.team.Status.TeamID)).To(ConsistOf(HaveField("Name", "renamed")))
		Expect(a.deadman.Status.Retiring).To(BeEmpty())
	})

	It("can be corrected after the server has refused it", func(ctx SpecContext) {
		s := deadman(a.team, "typo")
		s.Spec.Severity = "critcal"
		create(ctx, s)
		eventuallyTold(ctx, s, v1alpha1.ConditionReady, "False Invalid")
		Expect(message(s, v1alpha1.ConditionReady)).To(ContainSubstring("severity must be one of"))
		change(ctx, s, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Severity = "critical" })
		eventuallyReady(ctx, s)
		Expect(i.peer.Switches(a.team.Status.TeamID)).To(HaveLen(2))
	})
})
