package database_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

const (
	firstPassword  = "canary-first-p@ss/w?rd#1"
	secondPassword = "canary-second-p@ss/w?rd#2"
)

var _ = Describe("a password that changes", func() {
	settled := func(ctx SpecContext, restart bool) *world {
		GinkgoHelper()
		w := newWorld(ctx)
		w.secret(ctx, "db", map[string]string{"password": firstPassword})
		w.create(ctx, looseImage, v1alpha1.ServerDatabase{
			DSN: "postgres://terdut@db/terdut?sslmode=require", PasswordSecretRef: &v1alpha1.SecretKeyRef{Name: "db"}, RestartOnRotation: restart,
		})
		w.settles(ctx)
		return w
	}
	// pass waits until the operator has looked at the server again.
	pass := func(ctx SpecContext, w *world) {
		GinkgoHelper()
		server := &v1alpha1.TerdutServer{}
		change(ctx, w, server, name, func(s *v1alpha1.TerdutServer) {
			if s.Spec.Sweeper == nil {
				s.Spec.AllowedTeams.Namespaces.From = v1alpha1.FromAll
			}
		})
		Eventually(func() int64 { return get(ctx, w, &v1alpha1.TerdutServer{}, name).Status.ObservedGeneration }).Should(Equal(server.Generation))
	}

	It("is reported once, until the pods are restarted, over a restart of the operator as well", func(ctx SpecContext) {
		w := settled(ctx, false)
		pods := w.pods(ctx)
		Expect(w.told(ctx)).To(BeEmpty())
		w.password(ctx, "db", secondPassword)
		w.becomes(ctx, "True NotVerified", `"db"`, "kubectl rollout restart deployment/terdut", "spec.database.restartOnRotation")
		Eventually(func() []string { return w.told(ctx) }).Should(ConsistOf(And(HavePrefix("Warning: "), ContainSubstring("kubectl rollout restart"))))
		restart(func() {})
		pass(ctx, w)
		Expect(w.ready(ctx)()).To(HavePrefix("True NotVerified: "))
		Expect(w.told(ctx)).To(HaveLen(1))
		Expect(w.pods(ctx)).To(Equal(pods), "nobody asked for a restart")
		Expect(w.deployment(ctx).Spec.Template.Annotations).NotTo(HaveKey(v1alpha1.AnnotationDatabasePassword))

		By("kubectl rollout restart")
		change(ctx, w, &appsv1.Deployment{}, name, func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": time.Now().Format(time.RFC3339)}
		})
		w.settles(ctx)
		Expect(w.pods(ctx)).NotTo(Equal(pods))
	})

	It("is no longer reported when its pod was deleted", func(ctx SpecContext) {
		w := settled(ctx, false)
		w.password(ctx, "db", secondPassword)
		w.becomes(ctx, "True NotVerified", "kubectl rollout restart")
		Expect(env.Admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(w.namespace), client.GracePeriodSeconds(1))).To(Succeed())
		w.settles(ctx)
	})

	It("is noticed although the operator was away", func(ctx SpecContext) {
		w := settled(ctx, false)
		restart(func() { w.password(ctx, "db", secondPassword) })
		w.becomes(ctx, "True NotVerified", "kubectl rollout restart")
		Eventually(func() []string { return w.told(ctx) }).Should(HaveLen(1))
	})

	It("restarts the pods where that is asked for, and a label does not", func(ctx SpecContext) {
		w := settled(ctx, true)
		pods, before := w.pods(ctx), w.deployment(ctx)
		mark := before.Spec.Template.Annotations[v1alpha1.AnnotationDatabasePassword]
		Expect(mark).NotTo(BeEmpty())

		change(ctx, w, &corev1.Secret{}, "db", func(s *corev1.Secret) { s.Labels = map[string]string{"touched": "yes"} })
		pass(ctx, w)
		Expect(w.deployment(ctx).Generation).To(Equal(before.Generation))
		Expect(w.pods(ctx)).To(Equal(pods))
		Expect(w.told(ctx)).To(BeEmpty())

		w.password(ctx, "db", secondPassword)
		Eventually(func() []string { return w.told(ctx) }).Should(ConsistOf(And(HavePrefix("Normal: "), ContainSubstring("restarted"))))
		Eventually(func() []string { return w.pods(ctx) }).ShouldNot(Or(BeEmpty(), ContainElements(pods)))
		w.settles(ctx)
		Expect(w.deployment(ctx).Spec.Template.Annotations).NotTo(HaveKeyWithValue(v1alpha1.AnnotationDatabasePassword, mark))
	})

	It("is told by a key that comes back when it is deleted, without a restart", func(ctx SpecContext) {
		w := settled(ctx, true)
		pods := w.pods(ctx)
		key := get(ctx, w, &corev1.Secret{}, v1alpha1.DatabaseHMACSecretName(name))
		Expect(env.Admin.Delete(ctx, key)).To(Succeed())
		Eventually(func() ([]byte, error) {
			again := &corev1.Secret{}
			err := env.Admin.Get(ctx, client.ObjectKeyFromObject(key), again)
			return again.Data["key"], err
		}).Should(Equal(key.Data["key"]))
		pass(ctx, w)
		Expect(w.pods(ctx)).To(Equal(pods))
		Expect(w.told(ctx)).To(BeEmpty())
	})
})
