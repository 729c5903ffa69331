package policies_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("paused", func() {
	It("keeps the operator from changing anything, and going on is at once", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		id := i.Team.Status.TeamID
		everything := append(i.all(), i.server)
		annotate(ctx, v1alpha1.AnnotationPaused, "true", everything...)
		for _, o := range everything {
			eventuallyTold(ctx, o, v1alpha1.ConditionPaused, "True Paused")
			eventuallyTold(ctx, o, v1alpha1.ConditionReady, "True Ready")
			Expect(steps.Message(o, v1alpha1.ConditionPaused)).To(ContainSubstring("still runs"))
			env.EventuallyEvent(ctx, o, HavePrefix("Normal Paused"))
		}
		i.peer.ResetRequests()
		env.Requests.Reset()
		steps.Change(ctx, env, i.Team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Renamed" })
		steps.Change(ctx, env, i.Switch, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Timeout = "20m" })
		steps.Change(ctx, env, i.Source, func(s *v1alpha1.TerdutAlertSource) { s.Spec.Name = "renamed" })
		steps.Change(ctx, env, i.Rule, func(r *v1alpha1.TerdutEscalationRule) { r.Spec.RepeatCount = 7 })
		steps.Change(ctx, env, i.server, func(s *v1alpha1.TerdutServer) { s.Spec.Networking.ServicePort = 9090 })
		for _, o := range everything {
			eventuallyTold(ctx, o, v1alpha1.ConditionReady, "Unknown Paused")
		}
		Expect(i.peer.Writes()).To(BeZero())
		for _, write := range env.Requests.Writes(i.server.Namespace, i.Team.Namespace) {
			Expect(write).To(Or(HaveSuffix("/status"), ContainSubstring("/events")), "a write while everything is paused")
		}

		// The address that the operator calls would change with the port.
		steps.Change(ctx, env, i.server, func(s *v1alpha1.TerdutServer) { s.Spec.Networking.ServicePort = 8080 })
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
		env.Remove(ctx, everything...)
		env.EventuallyGone(ctx, everything...)
		Expect(i.peer.Teams()).To(BeEmpty())
	})

	It("from the beginning makes nothing", func(ctx SpecContext) {
		paused := map[string]string{v1alpha1.AnnotationPaused: "true"}
		at := env.NewNamespace(ctx, "platform", nil)
		server := sample.Server(at)
		server.Annotations = paused
		env.Create(ctx, server)
		eventuallyTold(ctx, server, v1alpha1.ConditionReady, "Unknown Paused")
		Expect(server.Finalizers).To(BeEmpty())
		Expect(server.Status.ObservedGeneration).To(Equal(int64(-1)))
		secrets := &corev1.SecretList{}
		Expect(env.Admin.List(ctx, secrets, client.InNamespace(at))).To(Succeed())
		Expect(secrets.Items).To(BeEmpty())
		env.Remove(ctx, server)
		env.EventuallyGone(ctx, server)
	})
})

var _ = Describe("the reconcile annotation", func() {
	It("has everything looked at anew, once, with one write", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		id := i.Team.Status.TeamID
		Expect(i.peer.RenameTeam(id, "Drifted")).To(Succeed())
		for _, o := range append(i.all(), i.server) {
			annotate(ctx, v1alpha1.AnnotationReconcile, "now", o)
			asked := o.GetResourceVersion()
			Eventually(func() string {
				Expect(env.Read(ctx, o)).To(Succeed())
				return reconciled(o)
			}).Should(Equal("now"), "%T", o)
			version := o.GetResourceVersion()
			Expect(version).NotTo(Equal(asked))
			Consistently(func() string {
				Expect(env.Read(ctx, o)).To(Succeed())
				return o.GetResourceVersion()
			}, "1s").Should(Equal(version), "%T writes again", o)
		}
		Expect(i.peer.Teams()).To(ConsistOf(HaveField("Name", "Payments")), "the drift was seen past the snapshot")
	})
})
