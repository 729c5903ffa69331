package kstatus_test

import (
	"fmt"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
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
		for _, o := range w.all() {
			got, err := reads(ctx, o)()
			Expect(err).NotTo(HaveOccurred())
			Expect(got).To(Equal(kstatus.InProgressStatus), "%T", o)
			states++
		}
	})

	It("says InProgress while something is missing, and never Current in between", func(ctx SpecContext) {
		Expect(env.RunOperator(resync)).To(Succeed())
		for _, o := range w.all() {
			Consistently(reads(ctx, o), resync).Should(Equal(kstatus.InProgressStatus), "%T", o)
			states++
		}
	})

	It("says Current when everything is applied", func(ctx SpecContext) {
		w.secret(ctx)
		eventually(ctx, kstatus.CurrentStatus, w.all()...)
	})

	It("does not blink on a resync", func(ctx SpecContext) {
		for _, o := range w.all() {
			Consistently(reads(ctx, o), 2*resync).Should(Equal(kstatus.CurrentStatus), "%T", o)
		}
	})

	It("goes on saying Current of what lives on a server that is silent", func(ctx SpecContext) {
		w.peer.Down(true)
		for _, o := range w.Objects() {
			Eventually(env.Told(ctx, o, v1alpha1.ConditionSynced)).Should(Equal("Unknown ServerUnreachable"), "%T", o)
			Expect(reads(ctx, o)()).To(Equal(kstatus.CurrentStatus), "%T", o)
			states++
		}
	})

	It("says InProgress of a new generation meanwhile, and Current when it is applied", func(ctx SpecContext) {
		steps.Change(ctx, env, w.Switch, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Timeout = "20m" })
		eventually(ctx, kstatus.InProgressStatus, w.Switch)
		Consistently(reads(ctx, w.Switch), resync).Should(Equal(kstatus.InProgressStatus))
		w.peer.Down(false)
		eventually(ctx, kstatus.CurrentStatus, w.Objects()...)
	})

	It("says InProgress of a generation that is refused, and Failed of one that was applied before", func(ctx SpecContext) {
		_, err := w.peer.Model().CreateTeam("Taken")
		Expect(err).NotTo(HaveOccurred())
		steps.Change(ctx, env, w.Team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Taken" })
		Eventually(env.Told(ctx, w.Team, v1alpha1.ConditionSynced)).Should(Equal("False NameConflict"))
		eventually(ctx, kstatus.InProgressStatus, w.Team)
		steps.Change(ctx, env, w.Team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Payments" })
		eventually(ctx, kstatus.CurrentStatus, w.Team)

		delete(w.tenant.Labels, sample.Allowed)
		Expect(env.Admin.Update(ctx, w.tenant)).To(Succeed())
		eventually(ctx, kstatus.FailedStatus, w.Team)
		w.tenant.Labels = sample.Admitted()
		Expect(env.Admin.Update(ctx, w.tenant)).To(Succeed())
		eventually(ctx, kstatus.CurrentStatus, w.Objects()...)
	})

	It("ends on what was asked last, however often the object changes under a status that is being written", func(ctx SpecContext) {
		for n := range 30 {
			steps.Change(ctx, env, w.Team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = fmt.Sprintf("Payments %d", n) })
			steps.Change(ctx, env, w.Switch, func(s *v1alpha1.TerdutDeadmanSwitch) { s.Spec.Timeout = v1alpha1.Duration(fmt.Sprintf("%dm", 20+n)) })
		}
		eventually(ctx, kstatus.CurrentStatus, w.Objects()...)
		Expect(env.Read(ctx, w.Team)).To(Succeed())
		Expect(w.peer.Teams()).To(ContainElement(And(HaveField("ID", w.Team.Status.TeamID), HaveField("Name", "Payments 29"))))
		Expect(w.peer.Switches(w.Team.Status.TeamID)).To(ConsistOf(HaveField("TimeoutText", "49m")))
	})

	It("is told by no write at rest: a watch sees nothing over several resyncs", func(ctx SpecContext) {
		versions := func() map[string]string {
			out := map[string]string{}
			for _, o := range w.all() {
				Expect(env.Read(ctx, o)).To(Succeed())
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
		env.Remove(ctx, w.Objects()...)
		eventually(ctx, kstatus.TerminatingStatus, w.Objects()...)
		w.peer.Down(false)
	})

	It("leaves a finalizer of somebody else alone, and does not bring it back", func(ctx SpecContext) {
		const foreign = "example.com/theirs"
		v := newWorld(ctx)
		v.secret(ctx)
		eventually(ctx, kstatus.CurrentStatus, v.Team)
		steps.Change(ctx, env, v.Team, func(t *v1alpha1.TerdutTeam) { t.Finalizers = append(t.Finalizers, foreign) })
		steps.Change(ctx, env, v.Team, func(t *v1alpha1.TerdutTeam) {
			t.Finalizers, t.Spec.DisplayName = []string{v1alpha1.Finalizer}, "Renamed"
		})
		eventually(ctx, kstatus.CurrentStatus, v.Team)
		steps.Change(ctx, env, v.Team, func(t *v1alpha1.TerdutTeam) {
			Expect(t.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
			t.Finalizers = append(t.Finalizers, foreign)
		})
		env.Remove(ctx, v.Rule, v.Switch, v.Source, v.Team)
		Eventually(func() []string {
			_ = env.Read(ctx, v.Team)
			return v.Team.Finalizers
		}).Should(ConsistOf(foreign))
		Expect(v.peer.Teams()).To(BeEmpty())
		steps.Change(ctx, env, v.Team, func(t *v1alpha1.TerdutTeam) { t.Finalizers = nil })
		env.EventuallyGone(ctx, v.Team)
	})
})
