package server_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var _ = Describe("the database", func() {
	It("is taken up as soon as its password is there, and nothing is made before", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.create(ctx, func(s *v1alpha1.TerdutServer) {
			s.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db"}
		})
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False SecretNotFound"))
		Expect(w.message(ctx, v1alpha1.ConditionReady)).To(And(ContainSubstring("spec.database.passwordSecretRef"), ContainSubstring(`"db"`)))
		Expect(gone(ctx, w, &appsv1.Deployment{}, name)()).To(BeTrue())
		w.secret(ctx, "db", map[string]string{"other": "x"})
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False SecretKeyMissing"))
		change(ctx, w, &corev1.Secret{}, "db", func(s *corev1.Secret) { s.Data["password"] = []byte("planted-canary") })
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("True NotVerified"))
		w.run(ctx, true)
		w.ready(ctx)
		Expect(w.conditionOf(ctx, v1alpha1.ConditionDatabaseReady)()).To(Equal("True Connected"))
		Expect(get(ctx, w, &appsv1.Deployment{}, name).String()).NotTo(ContainSubstring("planted-canary"))
	})

	It("keeps the pods that run when a Secret of a new generation is missing", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.settle(ctx)
		before := get(ctx, w, &appsv1.Deployment{}, name).Generation
		change(ctx, w, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) {
			s.Spec.Notify = &v1alpha1.ServerNotify{TokenSecretRef: &v1alpha1.SecretKeyRef{Name: "ntfy"}}
		})
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal("False SecretNotFound"))
		Expect(w.message(ctx, v1alpha1.ConditionAvailable)).To(ContainSubstring("spec.notify.tokenSecretRef"))
		Expect(get(ctx, w, &appsv1.Deployment{}, name).Generation).To(Equal(before))
		Expect(w.server(ctx).Status.ObservedGeneration).To(Equal(int64(1)))
		w.secret(ctx, "ntfy", map[string]string{"token": "t"})
		Eventually(func() int64 { return get(ctx, w, &appsv1.Deployment{}, name).Generation }).Should(Equal(before + 1))
	})
})
