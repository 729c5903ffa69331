package kstatus_test

import (
	"fmt"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

var _ = Describe("kstatus", Ordered, func() {
	var w *world
	states := 0
	eventually := func(ctx SpecContext, want kstatus.Status, objects ...client.Object) {
		GinkgoHelper()
		for _, o := range objects {
			Eventually(reads(ctx, o)).Should(Equal(want), "%T", o)
			states++
		}
	}
	AfterAll(func() {
		writes, _ := env.Requests.StatusWrites()
		Expect(figures.Value(suite, "guarded-status-writes", writes, "")).To(Succeed())
		Expect(figures.Count(suite, "kstatus-live-states", states, states)).To(Succeed())
	})

	It("says InProgress of what the operator has never seen", func(ctx SpecContext) {
		w = newWorld(ctx)
		for _, o := range append([]client.Object{w.server}, w.remote...) {
			got, err := reads(ctx, o)()
			Expect(err).NotTo(HaveOccurred())
			Expect(got).To(Equal(kstatus.InProgressStatus), "%T", o)
			states++
		}
	})

	It("says InProgress while something is missing, and never Current in between", func(ctx SpecContext) {
		Expect(env.RunOperator(resync)).To(Succeed())
		for _, o := range append([]client.Object{w.server}, w.remote...) {
			Consistently(reads(ctx, o), resync).Should(Equal(kstatus.InProgressStatus), "%T", o)
			states++
		}
	})

	It("says Current when everything is applied", func(ctx SpecContext) {
		w.secret(ctx)
		eventually(ctx, kstatus.CurrentStatus, append([]client.Object{w.server}, w.remote...)...)
	})

	It("does not blink on a resync", func(ctx SpecContext) {
		for _, o := range append([]client.Object{w.server}, w.remote...) {
			Consistently(reads(ctx, o), 2*resync).Should(Equal(kstatus.CurrentStatus), "%T", o)
		}
	})

	It("goes on saying Current of what lives on a server that is silent", func(ctx SpecContext) {
		w.peer.Down(true)
		for _, o := range w.remote {
			Eventually(func() string { return syncedOf(ctx, o) }).Should(Equal("Unknown ServerUnreachable"), "%T", o)
			Expect(reads(ctx, o)()).To(Equal(kstatus.CurrentStatus), "%T", o)
			states++
		}
	})

	It("says InProgress of a new generation meanwhile, and Current when it is applied", func(ctx SpecContext) {
		change(ctx, w.dead, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Timeout = "20m" })
		eventually(ctx, kstatus.InProgressStatus, w.dead)
		Consistently(reads(ctx, w.dead), resync).Should(Equal(kstatus.InProgressStatus))
		w.peer.Down(false)
		eventually(ctx, kstatus.CurrentStatus, w.remote...)
	})

	It("says InProgress of a generation that is refused, and Failed of one that was applied before", func(ctx SpecContext) {
		_, err := w.peer.Model().CreateTeam("Taken")
		Expect(err).NotTo(HaveOccurred())
		change(ctx, w.team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Taken" })
		Eventually(func() string { return syncedOf(ctx, w.team) }).Should(Equal("False NameConflict"))
		eventually(ctx, kstatus.InProgressStatus, w.team)
		change(ctx, w.team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Payments" })
		eventually(ctx, kstatus.CurrentStatus, w.team)

		delete(w.tenant.Labels, allowed)
		Expect(env.Admin.Update(ctx, w.tenant)).To(Succeed())
		eventually(ctx, kstatus.FailedStatus, w.team)
		w.tenant.Labels = map[string]string{allowed: "true"}
		Expect(env.Admin.Update(ctx, w.tenant)).To(Succeed())
		eventually(ctx, kstatus.CurrentStatus, w.remote...)
	})

	It("ends on what was asked last, however often the object changes under a status that is being written", func(ctx SpecContext) {
		for n := range 30 {
			change(ctx, w.team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = fmt.Sprintf("Payments %d", n) })
			change(ctx, w.dead, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Timeout = v1alpha1.Duration(fmt.Sprintf("%dm", 20+n)) })
		}
		eventually(ctx, kstatus.CurrentStatus, w.remote...)
		Expect(env.Admin.Get(ctx, client.ObjectKeyFromObject(w.team), w.team)).To(Succeed())
		Expect(w.peer.Teams()).To(ContainElement(And(HaveField("ID", w.team.Status.TeamID), HaveField("Name", "Payments 29"))))
		Expect(w.peer.Switches(w.team.Status.TeamID)).To(ConsistOf(HaveField("TimeoutText", "49m")))
	})

	It("is told by no write at rest: a watch sees nothing over several resyncs", func(ctx SpecContext) {
		versions := func() map[string]string {
			out := map[string]string{}
			for _, o := range append([]client.Object{w.server}, w.remote...) {
				Expect(env.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
				out[fmt.Sprintf("%T", o)] = o.GetResourceVersion()
			}
			return out
		}
		Eventually(func(g Gomega) {
			before, told := versions(), env.Requests.Events()
			g.Consistently(versions, 4*resync).Should(Equal(before))
			g.Expect(env.Requests.Events()).To(Equal(told))
		}).Should(Succeed())
	})

	It("says Terminating of what cannot go", func(ctx SpecContext) {
		w.peer.Down(true)
		for _, o := range w.remote {
			Expect(env.Admin.Delete(ctx, o)).To(Succeed())
		}
		eventually(ctx, kstatus.TerminatingStatus, w.remote...)
		w.peer.Down(false)
	})

	It("leaves a finalizer of somebody else alone, and does not bring it back", func(ctx SpecContext) {
		const foreign = "example.com/theirs"
		v := newWorld(ctx)
		v.secret(ctx)
		eventually(ctx, kstatus.CurrentStatus, v.team)
		change(ctx, v.team, func(t *v1alpha1.TerdutTeam) { t.Finalizers = append(t.Finalizers, foreign) })
		change(ctx, v.team, func(t *v1alpha1.TerdutTeam) {
			t.Finalizers, t.Spec.DisplayName = []string{v1alpha1.Finalizer}, "Renamed"
		})
		eventually(ctx, kstatus.CurrentStatus, v.team)
		change(ctx, v.team, func(t *v1alpha1.TerdutTeam) {
			Expect(t.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
			t.Finalizers = append(t.Finalizers, foreign)
		})
		for _, o := range []client.Object{v.rule, v.dead, v.source, v.team} {
			Expect(env.Admin.Delete(ctx, o)).To(Succeed())
		}
		Eventually(func() []string {
			_ = env.Admin.Get(ctx, client.ObjectKeyFromObject(v.team), v.team)
			return v.team.Finalizers
		}).Should(ConsistOf(foreign))
		Expect(v.peer.Teams()).To(BeEmpty())
		change(ctx, v.team, func(t *v1alpha1.TerdutTeam) { t.Finalizers = nil })
		Eventually(func() bool {
			return apierrors.IsNotFound(env.Admin.Get(ctx, client.ObjectKeyFromObject(v.team), v.team))
		}).Should(BeTrue())
	})
})
