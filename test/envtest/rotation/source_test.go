package rotation_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("a rotation", func() {
	var i *install
	var team *v1alpha1.TerdutTeam
	var s *v1alpha1.TerdutAlertSource
	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx)
		team = i.ReadyTeam(ctx, "Payments")
		s = sample.Source(team, "alerts")
		env.Create(ctx, s)
		env.EventuallyReady(ctx, s)
		i.Peer.ResetRequests()
	})

	It("leaves the old key in use until the grace is over", func(ctx SpecContext) {
		old, oldID := webhook(ctx, s), s.Status.IntegrationID
		rotate(ctx, s, "monday")
		eventuallyRotated(ctx, s, "monday")
		now := webhook(ctx, s)
		Expect(keyOf(now)).NotTo(Equal(keyOf(old)))
		Expect(now.UID).To(Equal(old.UID), "one Secret, written once")
		Expect(i.Peer.IntegrationID(keyOf(now))).To(Equal(s.Status.IntegrationID))
		Expect(i.Peer.Integrations(team.Status.TeamID)).To(ConsistOf(
			And(HaveField("ID", s.Status.IntegrationID), HaveField("Name", "alerts")),
			And(HaveField("ID", oldID), HaveField("Name", "alerts-retired-"+itoa(oldID)))))
		Expect(s.Status.Retiring).To(ConsistOf(And(HaveField("ID", oldID), HaveField("DeleteAfter", Not(BeNil())))))
		Expect(accepts(urlOf(old))).To(BeTrue())
		Expect(accepts(urlOf(now))).To(BeTrue())
		env.EventuallyEvent(ctx, s, And(HavePrefix("Warning Rotated"), ContainSubstring("as was asked for"),
			ContainSubstring(s.Status.Retiring[0].DeleteAfter.UTC().Format(time.RFC3339)), Not(ContainSubstring(keyOf(now)))))

		By("not a minute less")
		pass(grace - time.Minute)
		looked := func() int { return len(i.Peer.Requests()) }
		i.Peer.ResetRequests()
		Eventually(looked).Should(BeNumerically(">=", 12))
		Expect(i.Peer.Calls("DELETE", "POST", "PATCH")).To(BeEmpty())
		Expect(accepts(urlOf(old))).To(BeTrue())

		By("and then no longer")
		pass(2 * time.Minute)
		Eventually(func() bool { return accepts(urlOf(old)) }).Should(BeFalse())
		Eventually(func() []v1alpha1.RetiringObject { _ = env.Read(ctx, s); return s.Status.Retiring }).Should(BeEmpty())
		Expect(accepts(urlOf(now))).To(BeTrue())
		Expect(webhook(ctx, s).ResourceVersion).To(Equal(now.ResourceVersion))

		By("and asks once for each token")
		i.Peer.ResetRequests()
		Eventually(looked).Should(BeNumerically(">=", 12))
		Expect(i.Peer.Calls("DELETE", "POST", "PATCH")).To(BeEmpty())
	})

	It("within the grace of another deletes what is retired first", func(ctx SpecContext) {
		first := webhook(ctx, s)
		rotate(ctx, s, "one")
		eventuallyRotated(ctx, s, "one")
		second := webhook(ctx, s)
		i.Peer.ResetRequests()
		rotate(ctx, s, "two")
		eventuallyRotated(ctx, s, "two")
		Expect(i.Peer.Calls("DELETE", "POST")).To(HaveExactElements(HavePrefix("DELETE"), HavePrefix("POST")))
		Expect(s.Status.Retiring).To(HaveLen(1))
		Expect(accepts(urlOf(first))).To(BeFalse())
		Expect(accepts(urlOf(second))).To(BeTrue())
		Expect(accepts(urlOf(webhook(ctx, s)))).To(BeTrue())
		Expect(i.Peer.Integrations(team.Status.TeamID)).To(HaveLen(2))
	})

	It("without a grace ends the old key at once, as after a leak", func(ctx SpecContext) {
		old := webhook(ctx, s)
		steps.Change(ctx, env, s, func(s *v1alpha1.TerdutAlertSource) {
			s.Spec.RotationGrace = ptr.To(v1alpha1.Grace("0s"))
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationRotate, strings.Repeat("x", 300))
		})
		eventuallyRotated(ctx, s, strings.Repeat("x", 256))
		Eventually(func() bool { return accepts(urlOf(old)) }).Should(BeFalse())
		Expect(accepts(urlOf(webhook(ctx, s)))).To(BeTrue())
		Eventually(func() int { return len(i.Peer.Integrations(team.Status.TeamID)) }).Should(Equal(1))
	})

	It("comes by itself when half of the Secret is lost, and not for what can be known", func(ctx SpecContext) {
		whole := webhook(ctx, s)
		By("adding what follows from the rest")
		steps.Change(ctx, env, webhook(ctx, s), func(o *secretObject) {
			delete(o.Data, v1alpha1.WebhookInternalURLKey)
			o.Labels = nil
		})
		Eventually(func() map[string][]byte { return webhook(ctx, s).Data }).Should(Equal(whole.Data))
		Eventually(func() map[string]string { return webhook(ctx, s).Labels }).Should(Equal(whole.Labels))

		By("leaving a value that somebody has changed: nobody else knows the right one")
		steps.Change(ctx, env, webhook(ctx, s), func(o *secretObject) { o.Data[v1alpha1.WebhookKeyKey] = []byte("changed") })
		i.Peer.ResetRequests()
		Eventually(func() int { return len(i.Peer.Requests()) }).Should(BeNumerically(">=", 12))
		Expect(keyOf(webhook(ctx, s))).To(Equal("changed"))
		Expect(i.Peer.Calls("POST", "DELETE")).To(BeEmpty())

		By("making a new key for one that is gone")
		steps.Change(ctx, env, webhook(ctx, s), func(o *secretObject) { delete(o.Data, v1alpha1.WebhookKeyKey) })
		Eventually(func() string { return keyOf(webhook(ctx, s)) }).Should(HaveLen(64))
		Eventually(func() int64 { _ = env.Read(ctx, s); return s.Status.IntegrationID }).Should(
			Equal(i.Peer.IntegrationID(keyOf(webhook(ctx, s)))))
		env.EventuallyReady(ctx, s)
		Expect(accepts(urlOf(whole))).To(BeTrue())
		env.EventuallyEvent(ctx, s, And(HavePrefix("Warning Rotated"), ContainSubstring("its key was lost")))
	})
})
