package kinds_test

import (
	"context"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// webhook is the Secret of a source.
func webhook(ctx context.Context, s *v1alpha1.TerdutAlertSource) *corev1.Secret {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: v1alpha1.WebhookSecretName(s.Name)}}
	if err := env.Read(ctx, secret); err != nil {
		return &corev1.Secret{}
	}
	return secret
}

var _ = Describe("the webhook Secret", func() {
	It("holds the exact bytes of a key that works, and belongs to its source", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		secret := webhook(ctx, a.Source)
		Expect(secret.Data).To(HaveLen(3))
		key := string(secret.Data["key"])
		Expect(key).To(MatchRegexp(`^[0-9a-f]{64}$`))
		Expect(i.Peer.IntegrationID(key)).To(Equal(a.Source.Status.IntegrationID))
		base := "http://terdut." + i.Platform + ".svc:8080/"
		Expect(string(secret.Data["internalURL"])).To(HavePrefix(base))
		Expect(string(secret.Data["url"])).To(Equal(string(secret.Data["internalURL"])))
		Expect(env.Alert(string(secret.Data["url"]))).To(BeNumerically("<", 300))
		Expect(metav1.IsControlledBy(secret, a.Source)).To(BeTrue())
		Expect(secret.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationIntegrationID, itoa(a.Source.Status.IntegrationID)))
		Expect(secret.Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.ManagedBy))
	})

	It("is never written over a stranger's", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		team := i.ReadyTeam(ctx, "Payments")
		stranger := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: i.Tenant, Name: "alerts-terdut-webhook"}, Data: map[string][]byte{"key": []byte("mine")},
		}
		env.Create(ctx, stranger)
		version := stranger.ResourceVersion
		i.Peer.ResetRequests()
		s := sample.Source(team, "alerts")
		env.Create(ctx, s)
		env.EventuallyTold(ctx, s, v1alpha1.ConditionReady, "False NameConflict")
		Expect(env.Told(ctx, s, v1alpha1.ConditionStalled)()).To(Equal("True NameConflict"))
		Expect(steps.Message(s, v1alpha1.ConditionReady)).To(ContainSubstring("alerts-terdut-webhook"))
		Expect(i.Peer.Calls("POST")).To(BeEmpty())
		Expect(env.Read(ctx, stranger)).To(Succeed())
		Expect(stranger.ResourceVersion).To(Equal(version))

		By("going on when it is gone")
		env.Remove(ctx, stranger)
		env.EventuallyReady(ctx, s)
		Expect(i.Peer.IntegrationID(string(webhook(ctx, s).Data["key"]))).To(Equal(s.Status.IntegrationID))
	})

	It("gets a new key when it is lost, and the old one works until the grace ends", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		old, oldID := webhook(ctx, a.Source), a.Source.Status.IntegrationID
		env.Remove(ctx, old)
		Eventually(func() string { return string(webhook(ctx, a.Source).Data["key"]) }).Should(And(
			HaveLen(64), Not(Equal(string(old.Data["key"])))))
		Eventually(func(g Gomega) {
			g.Expect(env.Read(ctx, a.Source)).To(Succeed())
			g.Expect(a.Source.Status.IntegrationID).NotTo(Equal(oldID))
			g.Expect(a.Source.Status.Retiring).To(ConsistOf(HaveField("ID", oldID)))
		}).Should(Succeed())
		env.EventuallyReady(ctx, a.Source)
		Expect(i.Peer.Integrations(a.Team.Status.TeamID)).To(ConsistOf(
			And(HaveField("ID", a.Source.Status.IntegrationID), HaveField("Name", "alerts")),
			And(HaveField("ID", oldID), HaveField("Name", "alerts-retired-"+itoa(oldID))),
		))
		Expect(env.Alert(string(old.Data["url"]))).To(BeNumerically("<", 300))
		Expect(env.Alert(string(webhook(ctx, a.Source).Data["url"]))).To(BeNumerically("<", 300))
		env.EventuallyEvent(ctx, a.Source, HavePrefix("Warning Rotated"))

		By("deleting both with the source")
		env.Remove(ctx, a.Source)
		env.EventuallyGone(ctx, a.Source, old)
		Expect(i.Peer.Integrations(a.Team.Status.TeamID)).To(BeEmpty())
	})
})
