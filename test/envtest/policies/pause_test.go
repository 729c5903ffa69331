package policies_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var _ = Describe("paused", func() {
	It("keeps the operator from changing anything, and going on is at once", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		id := i.team.Status.TeamID
		everything := append(i.all(), i.server)
		annotate(ctx, v1alpha1.AnnotationPaused, "true", everything...)
		for _, o := range everything {
			eventuallyTold(ctx, o, v1alpha1.ConditionPaused, "True Paused")
			eventuallyTold(ctx, o, v1alpha1.ConditionReady, "True Ready")
			Expect(message(o, v1alpha1.ConditionPaused)).To(ContainSubstring("still runs"))
			eventuallyEvent(ctx, o, HavePrefix("Normal Paused"))
		}
		i.peer.ResetRequests()
		env.Requests.Reset()
		change(ctx, i.team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Renamed" })
		change(ctx, i.deadman, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Timeout = "20m" })
		change(ctx, i.source, func(s *v1alpha1.TerdutAlertSource) { s.Spec.Name = "renamed" })
		change(ctx, i.rule, func(r *v1alpha1.TerdutEscalationRule) { r.Spec.RepeatCount = 7 })
		change(ctx, i.server, func(s *v1alpha1.TerdutServer) { s.Spec.Networking.ServicePort = 9090 })
		for _, o := range everything {
			eventuallyTold(ctx, o, v1alpha1.ConditionReady, "Unknown Paused")
		}
		Expect(i.peer.Writes()).To(BeZero())
		for _, write := range env.Requests.Writes() {
			Expect(write).To(Or(HaveSuffix("/status"), ContainSubstring("/events")), "a write while everything is paused")
		}

		// The address that the operator calls would change with the port.
		change(ctx, i.server, func(s *v1alpha1.TerdutServer) { s.Spec.Networking.ServicePort = 8080 })
		annotate(ctx, v1alpha1.AnnotationPaused, "", everything...)
		for _, o := range everything {
			eventuallyReady(ctx, o)
			eventuallyTold(ctx, o, v1alpha1.ConditionPaused, "")
		}
		Expect(i.peer.Teams()).To(ConsistOf(HaveField("Name", "Renamed")))
		Expect(i.peer.Integrations(id)).To(ConsistOf(HaveField("Name", "renamed")))
		Expect(i.peer.Escalation(id).RepeatCount).To(Equal(7))
	})

	It("does not keep anything from being deleted", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		everything := append(i.all(), i.server)
		annotate(ctx, v1alpha1.AnnotationPaused, "true", everything...)
		for _, o := range everything {
			eventuallyTold(ctx, o, v1alpha1.ConditionPaused, "True Paused")
		}
		remove(ctx, everything...)
		eventuallyGone(ctx, everything...)
		Expect(i.peer.Teams()).To(BeEmpty())
	})

	It("from the beginning makes nothing", func(ctx SpecContext) {
		paused := map[string]string{v1alpha1.AnnotationPaused: "true"}
		at := namespace(ctx, "platform")
		server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: at, Name: "terdut", Annotations: paused}}
		server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut"
		server.Spec.Database.PasswordSecretRef = &v1alpha1.SecretKeyRef{Name: "db", Key: "password"}
		create(ctx, server)
		eventuallyTold(ctx, server, v1alpha1.ConditionReady, "Unknown Paused")
		Expect(server.Finalizers).To(BeEmpty())
		Expect(server.Status.ObservedGeneration).To(Equal(int64(-1)))
		secrets := &corev1.SecretList{}
		Expect(env.Admin.List(ctx, secrets, client.InNamespace(at))).To(Succeed())
		Expect(secrets.Items).To(BeEmpty())
		remove(ctx, server)
		eventuallyGone(ctx, server)
	})
})

var _ = Describe("the reconcile annotation", func() {
	It("has everything looked at anew, once, with one write", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		id := i.team.Status.TeamID
		Expect(i.peer.RenameTeam(id, "Drifted")).To(Succeed())
		for _, o := range append(i.all(), i.server) {
			annotate(ctx, v1alpha1.AnnotationReconcile, "now", o)
			asked := o.GetResourceVersion()
			Eventually(func() string {
				Expect(read(ctx, o)).To(Succeed())
				_, token := of(o)
				return token
			}).Should(Equal("now"), "%T", o)
			version := o.GetResourceVersion()
			Expect(version).NotTo(Equal(asked))
			Consistently(func() string {
				Expect(read(ctx, o)).To(Succeed())
				return o.GetResourceVersion()
			}, "1s").Should(Equal(version), "%T writes again", o)
		}
		Expect(i.peer.Teams()).To(ConsistOf(HaveField("Name", "Payments")), "the drift was seen past the snapshot")
	})
})
