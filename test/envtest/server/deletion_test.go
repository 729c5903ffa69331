package server_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

// attach makes a TerdutTeam that is recorded on the server.
func (w *world) attach(ctx context.Context, of string) *v1alpha1.TerdutTeam {
	GinkgoHelper()
	team := &v1alpha1.TerdutTeam{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: of, Finalizers: []string{v1alpha1.Finalizer}},
		Spec:       v1alpha1.TerdutTeamSpec{ServerRef: v1alpha1.ServerRef{Name: name}, DisplayName: of},
	}
	Expect(env.Admin.Create(ctx, team)).To(Succeed())
	team.Status.Remote = &v1alpha1.RemoteIdentity{
		ServerNamespace: w.Namespace, ServerName: name, ServerUID: w.Server(ctx).UID, TeamID: 7, ID: 7, OwnerUID: team.UID,
	}
	team.Status.ObservedGeneration = 1
	Expect(env.Admin.Status().Update(ctx, team)).To(Succeed())
	return team
}

// release takes the finalizer off a team, as its controller would.
func (w *world) release(ctx context.Context, of string) {
	GinkgoHelper()
	alone.Change(ctx, w.World, &v1alpha1.TerdutTeam{}, of, func(t *v1alpha1.TerdutTeam) { t.Finalizers = nil })
}

var _ = Describe("deletion", func() {
	It("takes everything along", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		Expect(w.Server(ctx).Finalizers).To(ContainElement(v1alpha1.Finalizer))
		Expect(env.Admin.Delete(ctx, w.Server(ctx))).To(Succeed())
		Eventually(w.Gone(ctx, &v1alpha1.TerdutServer{}, name)).Should(BeTrue())
		for of, object := range map[string]client.Object{name: &appsv1.Deployment{}, name + " ": &corev1.Service{}, credentialsName: &corev1.Secret{}} {
			Eventually(w.Gone(ctx, object, of)).Should(BeTrue(), fmt.Sprintf("%T", object))
		}
	})

	It("waits for the teams, first for somebody to delete them, then for their own end", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		team := w.attach(ctx, "platform")
		Eventually(func() int32 { return w.Server(ctx).Status.AttachedTeams }).Should(Equal(int32(1)))
		Expect(env.Admin.Delete(ctx, w.Server(ctx))).To(Succeed())
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionDegraded)).Should(Equal("True TeamsAttached"))
		Expect(w.Message(ctx, v1alpha1.ConditionDegraded)).To(ContainSubstring(w.Namespace + "/platform"))
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix("Warning TeamsAttached")))

		// Meanwhile the server serves, and nothing of it is made again.
		Expect(w.Remote.KeyID(w.Key(ctx))).NotTo(BeZero())
		service := alone.Get(ctx, w.World, &corev1.Service{}, name)
		Expect(env.Admin.Delete(ctx, service)).To(Succeed())
		Expect(env.Admin.Delete(ctx, team)).To(Succeed())
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionDegraded)).Should(Equal("True DeletionBlocked"))
		Expect(w.Gone(ctx, &corev1.Service{}, name)()).To(BeTrue())
		w.release(ctx, "platform")
		Eventually(w.Gone(ctx, &v1alpha1.TerdutServer{}, name)).Should(BeTrue())
	})

	It("does not wait for live teams when its whole namespace goes", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		w.attach(ctx, "platform")
		Eventually(func() int32 { return w.Server(ctx).Status.AttachedTeams }).Should(Equal(int32(1)))
		Expect(env.Admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})).To(Succeed())
		Eventually(func() bool {
			team := alone.Get(ctx, w.World, &v1alpha1.TerdutTeam{}, "platform")
			return team.DeletionTimestamp != nil
		}).Should(BeTrue())
		w.release(ctx, "platform")
		Eventually(w.Gone(ctx, &v1alpha1.TerdutServer{}, name)).Should(BeTrue())
	})

	It("writes the number of teams once a minute at most", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		w.attach(ctx, "one")
		Eventually(func() int32 { return w.Server(ctx).Status.AttachedTeams }).Should(Equal(int32(1)))
		version := w.Server(ctx).ResourceVersion
		for _, of := range []string{"two", "three"} {
			w.attach(ctx, of)
		}
		Consistently(func() string { return w.Server(ctx).ResourceVersion }, time.Second).Should(Equal(version))
		for _, of := range []string{"one", "two", "three"} {
			w.release(ctx, of)
		}
	})
})
