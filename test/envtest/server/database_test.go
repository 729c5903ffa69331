package server_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

var _ = Describe("the database", func() {
	It("is taken up as soon as its password is there, and nothing is made before", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Create(ctx, func(s *v1alpha1.TerdutServer) {
			s.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db"}
		})
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False SecretNotFound"))
		Expect(w.Message(ctx, v1alpha1.ConditionReady)).To(And(ContainSubstring("spec.database.passwordSecretRef"), ContainSubstring(`"db"`)))
		Expect(w.Gone(ctx, &appsv1.Deployment{}, name)()).To(BeTrue())
		w.Secret(ctx, "db", map[string]string{"other": "x"})
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("False SecretKeyMissing"))
		alone.Change(ctx, w.World, &corev1.Secret{}, "db", func(s *corev1.Secret) { s.Data["password"] = []byte("planted-canary") })
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionDatabaseReady)).Should(Equal("True NotVerified"))
		w.RollOut(ctx, true)
		w.Ready(ctx)
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionDatabaseReady)()).To(Equal("True Connected"))
		Expect(alone.Get(ctx, w.World, &appsv1.Deployment{}, name).String()).NotTo(ContainSubstring("planted-canary"))
	})

	It("keeps the pods that run when a Secret of a new generation is missing", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		before := alone.Get(ctx, w.World, &appsv1.Deployment{}, name).Generation
		alone.Change(ctx, w.World, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) {
			s.Spec.Notify = &v1alpha1.ServerNotify{TokenSecretRef: &v1alpha1.SecretKeyRef{Name: "ntfy"}}
		})
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal("False SecretNotFound"))
		Expect(w.Message(ctx, v1alpha1.ConditionAvailable)).To(ContainSubstring("spec.notify.tokenSecretRef"))
		Expect(alone.Get(ctx, w.World, &appsv1.Deployment{}, name).Generation).To(Equal(before))
		Expect(w.Server(ctx).Status.ObservedGeneration).To(Equal(int64(1)))
		w.Secret(ctx, "ntfy", map[string]string{"token": "t"})
		Eventually(func() int64 { return alone.Get(ctx, w.World, &appsv1.Deployment{}, name).Generation }).Should(Equal(before + 1))
	})
})
