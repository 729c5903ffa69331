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
)

// attach makes a TerdutTeam that is recorded on the server.
func (w *world) attach(ctx context.Context, of string) *v1alpha1.TerdutTeam {
	GinkgoHelper()
	team := &v1alpha1.TerdutTeam{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: of, Finalizers: []string{v1alpha1.Finalizer}},
		Spec:       v1alpha1.TerdutTeamSpec{ServerRef: v1alpha1.ServerRef{Name: name}, DisplayName: of},
	}
	Expect(admin.Create(ctx, team)).To(Succeed())
	team.Status.Remote = &v1alpha1.RemoteIdentity{
		ServerNamespace: w.namespace, ServerName: name, ServerUID: w.server(ctx).UID, TeamID: 7, ID: 7, OwnerUID: team.UID,
	}
	team.Status.ObservedGeneration = 1
	Expect(admin.Status().Update(ctx, team)).To(Succeed())
	return team
}

// release takes the finalizer off a team, as its controller would.
func (w *world) release(ctx context.Context, of string) {
	GinkgoHelper()
	change(ctx, w, &v1alpha1.TerdutTeam{}, of, func(t *v1alpha1.TerdutTeam) { t.Finalizers = nil })
}

var _ = Describe("deletion", func() {
	It("takes everything along", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.settle(ctx)
		Expect(w.server(ctx).Finalizers).To(ContainElement(v1alpha1.Finalizer))
		Expect(admin.Delete(ctx, w.server(ctx))).To(Succeed())
		Eventually(gone(ctx, w, &v1alpha1.TerdutServer{}, name)).Should(BeTrue())
		for of, object := range map[string]client.Object{name: &appsv1.Deployment{}, name + " ": &corev1.Service{}, credentialsName: &corev1.Secret{}} {
			Eventually(gone(ctx, w, object, of)).Should(BeTrue(), fmt.Sprintf("%T", object))
		}
	})

	It("waits for the teams, first for somebody to delete them, then for their own end", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.settle(ctx)
		team := w.attach(ctx, "platform")
		Eventually(func() int32 { return w.server(ctx).Status.AttachedTeams }).Should(Equal(int32(1)))
		Expect(admin.Delete(ctx, w.server(ctx))).To(Succeed())
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDegraded)).Should(Equal("True TeamsAttached"))
		Expect(w.message(ctx, v1alpha1.ConditionDegraded)).To(ContainSubstring(w.namespace + "/platform"))
		Eventually(w.events(ctx)).Should(ContainElement(HavePrefix("Warning TeamsAttached")))

		// Meanwhile the server serves, and nothing of it is made again.
		Expect(w.remote.KeyID(w.key(ctx))).NotTo(BeZero())
		service := get(ctx, w, &corev1.Service{}, name)
		Expect(admin.Delete(ctx, service)).To(Succeed())
		Expect(admin.Delete(ctx, team)).To(Succeed())
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionDegraded)).Should(Equal("True DeletionBlocked"))
		Expect(gone(ctx, w, &corev1.Service{}, name)()).To(BeTrue())
		w.release(ctx, "platform")
		Eventually(gone(ctx, w, &v1alpha1.TerdutServer{}, name)).Should(BeTrue())
	})

	It("does not wait for live teams when its whole namespace goes", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.settle(ctx)
		w.attach(ctx, "platform")
		Eventually(func() int32 { return w.server(ctx).Status.AttachedTeams }).Should(Equal(int32(1)))
		Expect(admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
		Eventually(func() bool {
			team := get(ctx, w, &v1alpha1.TerdutTeam{}, "platform")
			return team.DeletionTimestamp != nil
		}).Should(BeTrue())
		w.release(ctx, "platform")
		Eventually(gone(ctx, w, &v1alpha1.TerdutServer{}, name)).Should(BeTrue())
	})

	It("writes the number of teams once a minute at most", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.settle(ctx)
		w.attach(ctx, "one")
		Eventually(func() int32 { return w.server(ctx).Status.AttachedTeams }).Should(Equal(int32(1)))
		version := w.server(ctx).ResourceVersion
		for _, of := range []string{"two", "three"} {
			w.attach(ctx, of)
		}
		Consistently(func() string { return w.server(ctx).ResourceVersion }, time.Second).Should(Equal(version))
		for _, of := range []string{"one", "two", "three"} {
			w.release(ctx, of)
		}
	})
})
