package rotation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

type secretObject = corev1.Secret

var _ = Describe("the place of the webhook's key", func() {
	var i *install
	var team *v1alpha1.TerdutTeam
	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx)
		team = i.ReadyTeam(ctx, "Payments")
	})

	It("moves with the key that is in it", func(ctx SpecContext) {
		s := sample.Source(team, "alerts")
		env.Create(ctx, s)
		env.EventuallyReady(ctx, s)
		old := webhook(ctx, s)
		i.Peer.ResetRequests()
		steps.Change(ctx, env, s, func(s *v1alpha1.TerdutAlertSource) { s.Spec.WebhookSecretName = "elsewhere" })
		Eventually(func() map[string][]byte { return webhook(ctx, s).Data }).Should(Equal(old.Data))
		Eventually(func() string { return secret(ctx, old.Namespace, old.Name).Name }).Should(BeEmpty())
		env.EventuallyReady(ctx, s)
		Expect(s.Status.WebhookURLSecretRef.Name).To(Equal("elsewhere"))
		Expect(metav1.IsControlledBy(webhook(ctx, s), s)).To(BeTrue())
		Expect(i.Peer.Writes()).To(BeZero())

		By("and back, when the name is taken away")
		steps.Change(ctx, env, s, func(s *v1alpha1.TerdutAlertSource) { s.Spec.WebhookSecretName = "" })
		Eventually(func() map[string][]byte { return secret(ctx, old.Namespace, old.Name).Data }).Should(Equal(old.Data))
		Eventually(func() string { return secret(ctx, old.Namespace, "elsewhere").Name }).Should(BeEmpty())
		Expect(i.Peer.Writes()).To(BeZero())
	})

	It("is never a Secret that the source does not control", func(ctx SpecContext) {
		stranger := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.Tenant, Name: "stranger"}, Data: map[string][]byte{"key": []byte("mine")}}
		env.Create(ctx, stranger)
		first, second := sample.Source(team, "first"), sample.Source(team, "second")
		env.Create(ctx, first, second)
		env.EventuallyReady(ctx, first, second)
		before := webhook(ctx, first)
		for _, name := range []string{"stranger", second.WebhookSecret()} {
			taken := secret(ctx, i.Tenant, name)
			steps.Change(ctx, env, first, func(s *v1alpha1.TerdutAlertSource) { s.Spec.WebhookSecretName = name })
			env.EventuallyTold(ctx, first, v1alpha1.ConditionReady, "False NameConflict")
			Expect(env.Told(ctx, first, v1alpha1.ConditionStalled)()).To(Equal("True NameConflict"))
			Expect(steps.Message(first, v1alpha1.ConditionReady)).To(ContainSubstring(name))
			Expect(first.Status.WebhookURLSecretRef.Name).To(Equal(before.Name))
			Expect(secret(ctx, i.Tenant, name)).To(Equal(taken))
			Expect(secret(ctx, i.Tenant, before.Name).Data).To(Equal(before.Data))
			Expect(first.Status.ObservedGeneration).To(BeNumerically("<", first.Generation))
		}

		By("waiting until it is free")
		steps.Change(ctx, env, second, func(s *v1alpha1.TerdutAlertSource) { s.Spec.WebhookSecretName = "third" })
		Eventually(func() map[string][]byte { return webhook(ctx, first).Data }).Should(Equal(before.Data))
		env.EventuallyReady(ctx, first, second)
	})

	It("is kept by whoever was there first", func(ctx SpecContext) {
		first, second := sample.Source(team, "first"), sample.Source(team, "second")
		first.Spec.WebhookSecretName, second.Spec.WebhookSecretName = "shared", "shared"
		env.Create(ctx, first)
		env.EventuallyReady(ctx, first)
		i.Peer.ResetRequests()
		env.Create(ctx, second)
		env.EventuallyTold(ctx, second, v1alpha1.ConditionReady, "False NameConflict")
		Expect(i.Peer.Calls("POST")).To(BeEmpty(), "no key is made that has no place")
		Expect(i.Peer.IntegrationID(keyOf(webhook(ctx, second)))).To(Equal(first.Status.IntegrationID))
	})
})

var _ = Describe("a key that is in use already", func() {
	var i *install
	var team *v1alpha1.TerdutTeam
	var id int64
	var key string
	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx)
		team = i.ReadyTeam(ctx, "Payments")
		made, material, err := i.Peer.Model().CreateIntegration(team.Status.TeamID, "alertmanager", "alerts", "")
		Expect(err).NotTo(HaveOccurred())
		id, key = made.ID, material
		i.Peer.ResetRequests()
	})
	adopting := func(ctx SpecContext) *v1alpha1.TerdutAlertSource {
		s := sample.Source(team, "alerts")
		s.Spec.ExistingKeySecretRef = &v1alpha1.LocalRef{Name: "kept"}
		env.Create(ctx, s)
		return s
	}
	kept := func(data map[string]string, annotations map[string]string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.Tenant, Name: "kept", Annotations: annotations}, StringData: data}
	}

	It("is needed to take its integration over", func(ctx SpecContext) {
		s := sample.Source(team, "alerts")
		env.Create(ctx, s)
		env.EventuallyTold(ctx, s, v1alpha1.ConditionReady, "False KeyUnknown")
		Expect(env.Told(ctx, s, v1alpha1.ConditionStalled)()).To(Equal("True KeyUnknown"))
		Expect(steps.Message(s, v1alpha1.ConditionReady)).To(ContainSubstring("spec.existingKeySecretRef"))
		Expect(i.Peer.Writes()).To(BeZero())
		Expect(i.Peer.Integrations(team.Status.TeamID)).To(ConsistOf(HaveField("ID", id)))
	})

	It("is waited for, verified as far as that goes, and taken over as it is", func(ctx SpecContext) {
		s := adopting(ctx)
		env.EventuallyTold(ctx, s, v1alpha1.ConditionReady, "False SecretNotFound")
		env.Create(ctx, kept(map[string]string{"url": "https://terdut.example.com/hooks/x"}, nil))
		env.EventuallyTold(ctx, s, v1alpha1.ConditionReady, "False SecretKeyMissing")
		Expect(steps.Message(s, v1alpha1.ConditionReady)).To(ContainSubstring(`has no "key"`))
		steps.Change(ctx, env, secret(ctx, i.Tenant, "kept"), func(o *secretObject) { o.StringData = map[string]string{"key": key, "url": "ftp://elsewhere"} })
		env.EventuallyTold(ctx, s, v1alpha1.ConditionReady, "False KeyNotUsable")
		Expect(steps.Message(s, v1alpha1.ConditionReady)).NotTo(ContainSubstring("elsewhere"))
		steps.Change(ctx, env, secret(ctx, i.Tenant, "kept"), func(o *secretObject) {
			o.StringData = map[string]string{"key": key + "\n", "url": "https://terdut.example.com/hooks/x\n"}
		})
		env.EventuallyReady(ctx, s)
		Expect(s.Status.IntegrationID).To(Equal(id))
		Expect(s.Status.Remote.Adopted).To(BeTrue())
		Expect(webhook(ctx, s).Data).To(Equal(map[string][]byte{
			"key": []byte(key), "url": []byte("https://terdut.example.com/hooks/x"),
			"internalURL": []byte("http://terdut." + i.Platform + ".svc:8080/hooks/x"),
		}))
		Expect(i.Peer.Writes()).To(BeZero())

		By("needing it no longer")
		env.Remove(ctx, secret(ctx, i.Tenant, "kept"))
		steps.Change(ctx, env, s, func(s *v1alpha1.TerdutAlertSource) { s.Spec.ExistingKeySecretRef = nil })
		env.EventuallyReady(ctx, s)
		Expect(keyOf(webhook(ctx, s))).To(Equal(key))
		Expect(i.Peer.Writes()).To(BeZero())
	})

	It("is refused when it says that it is another's", func(ctx SpecContext) {
		env.Create(ctx, kept(map[string]string{"url": "https://terdut.example.com/hooks/x", "key": key},
			map[string]string{v1alpha1.AnnotationIntegrationID: itoa(id + 1)}))
		s := adopting(ctx)
		env.EventuallyTold(ctx, s, v1alpha1.ConditionReady, "False KeyUnknown")
		Expect(steps.Message(s, v1alpha1.ConditionReady)).To(ContainSubstring("holds the key of " + itoa(id+1)))
		Expect(i.Peer.Writes()).To(BeZero())
	})

	It("comes back from a copy that says whose it is, without a rotation", func(ctx SpecContext) {
		s := sample.Source(team, "others")
		s.Spec.ExistingKeySecretRef = &v1alpha1.LocalRef{Name: "kept"}
		env.Create(ctx, s)
		env.EventuallyReady(ctx, s)
		saved := webhook(ctx, s)
		env.Create(ctx, kept(map[string]string{"url": urlOf(saved), "key": keyOf(saved)}, saved.Annotations))
		i.Peer.ResetRequests()
		env.Remove(ctx, saved)
		Eventually(func() map[string][]byte { return webhook(ctx, s).Data }).Should(Equal(saved.Data))
		env.EventuallyReady(ctx, s)
		Expect(i.Peer.Writes()).To(BeZero())
	})
})
