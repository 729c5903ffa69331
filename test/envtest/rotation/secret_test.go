package rotation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

type secretObject = corev1.Secret

var _ = Describe("the place of the webhook's key", func() {
	var i *install
	var team *v1alpha1.TerdutTeam
	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx)
		team = i.readyTeam(ctx, "Payments")
	})

	It("moves with the key that is in it", func(ctx SpecContext) {
		s := source(team, "alerts")
		create(ctx, s)
		eventuallyReady(ctx, s)
		old := webhook(ctx, s)
		i.peer.ResetRequests()
		change(ctx, s, func(s *v1alpha1.TerdutAlertSource) { s.Spec.WebhookSecretName = "elsewhere" })
		Eventually(func() map[string][]byte { return webhook(ctx, s).Data }).Should(Equal(old.Data))
		Eventually(func() string { return secret(ctx, old.Namespace, old.Name).Name }).Should(BeEmpty())
		eventuallyReady(ctx, s)
		Expect(s.Status.WebhookURLSecretRef.Name).To(Equal("elsewhere"))
		Expect(metav1.IsControlledBy(webhook(ctx, s), s)).To(BeTrue())
		Expect(i.peer.Writes()).To(BeZero())

		By("and back, when the name is taken away")
		change(ctx, s, func(s *v1alpha1.TerdutAlertSource) { s.Spec.WebhookSecretName = "" })
		Eventually(func() map[string][]byte { return secret(ctx, old.Namespace, old.Name).Data }).Should(Equal(old.Data))
		Eventually(func() string { return secret(ctx, old.Namespace, "elsewhere").Name }).Should(BeEmpty())
		Expect(i.peer.Writes()).To(BeZero())
	})

	It("is never a Secret that the source does not control", func(ctx SpecContext) {
		stranger := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.tenant, Name: "stranger"}, Data: map[string][]byte{"key": []byte("mine")}}
		create(ctx, stranger)
		first, second := source(team, "first"), source(team, "second")
		create(ctx, first, second)
		eventuallyReady(ctx, first, second)
		before := webhook(ctx, first)
		for _, name := range []string{"stranger", second.WebhookSecret()} {
			taken := secret(ctx, i.tenant, name)
			change(ctx, first, func(s *v1alpha1.TerdutAlertSource) { s.Spec.WebhookSecretName = name })
			eventuallyTold(ctx, first, v1alpha1.ConditionReady, "False NameConflict")
			Expect(told(ctx, first, v1alpha1.ConditionStalled)()).To(Equal("True NameConflict"))
			Expect(message(first, v1alpha1.ConditionReady)).To(ContainSubstring(name))
			Expect(first.Status.WebhookURLSecretRef.Name).To(Equal(before.Name))
			Expect(secret(ctx, i.tenant, name)).To(Equal(taken))
			Expect(secret(ctx, i.tenant, before.Name).Data).To(Equal(before.Data))
			Expect(first.Status.ObservedGeneration).To(BeNumerically("<", first.Generation))
		}

		By("waiting until it is free")
		change(ctx, second, func(s *v1alpha1.TerdutAlertSource) { s.Spec.WebhookSecretName = "third" })
		Eventually(func() map[string][]byte { return webhook(ctx, first).Data }).Should(Equal(before.Data))
		eventuallyReady(ctx, first, second)
	})

	It("is kept by whoever was there first", func(ctx SpecContext) {
		first, second := source(team, "first"), source(team, "second")
		first.Spec.WebhookSecretName, second.Spec.WebhookSecretName = "shared", "shared"
		create(ctx, first)
		eventuallyReady(ctx, first)
		i.peer.ResetRequests()
		create(ctx, second)
		eventuallyTold(ctx, second, v1alpha1.ConditionReady, "False NameConflict")
		Expect(i.peer.Calls("POST")).To(BeEmpty(), "no key is made that has no place")
		Expect(i.peer.IntegrationID(keyOf(webhook(ctx, second)))).To(Equal(first.Status.IntegrationID))
	})
})

var _ = Describe("a key that is in use already", func() {
	var i *install
	var team *v1alpha1.TerdutTeam
	var id int64
	var key string
	BeforeEach(func(ctx SpecContext) {
		i = newInstall(ctx)
		team = i.readyTeam(ctx, "Payments")
		made, material, err := i.peer.Model().CreateIntegration(team.Status.TeamID, "alertmanager", "alerts", "")
		Expect(err).NotTo(HaveOccurred())
		id, key = made.ID, material
		i.peer.ResetRequests()
	})
	adopting := func(ctx SpecContext) *v1alpha1.TerdutAlertSource {
		s := source(team, "alerts")
		s.Spec.ExistingKeySecretRef = &v1alpha1.LocalRef{Name: "kept"}
		create(ctx, s)
		return s
	}
	kept := func(data map[string]string, annotations map[string]string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.tenant, Name: "kept", Annotations: annotations}, StringData: data}
	}

	It("is needed to take its integration over", func(ctx SpecContext) {
		s := source(team, "alerts")
		create(ctx, s)
		eventuallyTold(ctx, s, v1alpha1.ConditionReady, "False KeyUnknown")
		Expect(told(ctx, s, v1alpha1.ConditionStalled)()).To(Equal("True KeyUnknown"))
		Expect(message(s, v1alpha1.ConditionReady)).To(ContainSubstring("spec.existingKeySecretRef"))
		Expect(i.peer.Writes()).To(BeZero())
		Expect(i.peer.Integrations(team.Status.TeamID)).To(ConsistOf(HaveField("ID", id)))
	})

	It("is waited for, verified as far as that goes, and taken over as it is", func(ctx SpecContext) {
		s := adopting(ctx)
		eventuallyTold(ctx, s, v1alpha1.ConditionReady, "False SecretNotFound")
		create(ctx, kept(map[string]string{"url": "https://terdut.example.com/hooks/x"}, nil))
		eventuallyTold(ctx, s, v1alpha1.ConditionReady, "False SecretKeyMissing")
		Expect(message(s, v1alpha1.ConditionReady)).To(ContainSubstring(`has no "key"`))
		change(ctx, secret(ctx, i.tenant, "kept"), func(o *secretObject) { o.StringData = map[string]string{"key": key, "url": "ftp://elsewhere"} })
		eventuallyTold(ctx, s, v1alpha1.ConditionReady, "False KeyNotUsable")
		Expect(message(s, v1alpha1.ConditionReady)).NotTo(ContainSubstring("elsewhere"))
		change(ctx, secret(ctx, i.tenant, "kept"), func(o *secretObject) {
			o.StringData = map[string]string{"key": key + "\n", "url": "https://terdut.example.com/hooks/x\n"}
		})
		eventuallyReady(ctx, s)
		Expect(s.Status.IntegrationID).To(Equal(id))
		Expect(s.Status.Remote.Adopted).To(BeTrue())
		Expect(webhook(ctx, s).Data).To(Equal(map[string][]byte{
			"key": []byte(key), "url": []byte("https://terdut.example.com/hooks/x"),
			"internalURL": []byte("http://terdut." + i.platform + ".svc:8080/hooks/x"),
		}))
		Expect(i.peer.Writes()).To(BeZero())

		By("needing it no longer")
		remove(ctx, secret(ctx, i.tenant, "kept"))
		change(ctx, s, func(s *v1alpha1.TerdutAlertSource) { s.Spec.ExistingKeySecretRef = nil })
		eventuallyReady(ctx, s)
		Expect(keyOf(webhook(ctx, s))).To(Equal(key))
		Expect(i.peer.Writes()).To(BeZero())
	})

	It("is refused when it says that it is another's", func(ctx SpecContext) {
		create(ctx, kept(map[string]string{"url": "https://terdut.example.com/hooks/x", "key": key},
			map[string]string{v1alpha1.AnnotationIntegrationID: itoa(id + 1)}))
		s := adopting(ctx)
		eventuallyTold(ctx, s, v1alpha1.ConditionReady, "False KeyUnknown")
		Expect(message(s, v1alpha1.ConditionReady)).To(ContainSubstring("holds the key of " + itoa(id+1)))
		Expect(i.peer.Writes()).To(BeZero())
	})

	It("comes back from a copy that says whose it is, without a rotation", func(ctx SpecContext) {
		s := source(team, "others")
		s.Spec.ExistingKeySecretRef = &v1alpha1.LocalRef{Name: "kept"}
		create(ctx, s)
		eventuallyReady(ctx, s)
		saved := webhook(ctx, s)
		create(ctx, kept(map[string]string{"url": urlOf(saved), "key": keyOf(saved)}, saved.Annotations))
		i.peer.ResetRequests()
		remove(ctx, saved)
		Eventually(func() map[string][]byte { return webhook(ctx, s).Data }).Should(Equal(saved.Data))
		eventuallyReady(ctx, s)
		Expect(i.peer.Writes()).To(BeZero())
	})
})
