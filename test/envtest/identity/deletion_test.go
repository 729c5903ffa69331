package identity_test

import (
	"context"
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

// everythingGone waits for the end of the server and of its Secrets.
func (w *world) everythingGone(ctx context.Context) {
	GinkgoHelper()
	Eventually(w.Gone(ctx, &v1alpha1.TerdutServer{}, name)).Should(BeTrue())
	for _, of := range []string{credentialsName, nextName} {
		Eventually(w.Gone(ctx, &corev1.Secret{}, of)).Should(BeTrue(), of)
	}
}

var _ = Describe("the end of a server", func() {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		It("comes when it is deleted in the "+string(policy), func(ctx SpecContext) {
			w := newWorld(ctx)
			w.start(time.Hour)
			w.Settle(ctx)
			w.quiet(ctx)
			Expect(env.Admin.Delete(ctx, w.Server(ctx), client.PropagationPolicy(policy))).To(Succeed())
			w.everythingGone(ctx)
		})

		It("comes in the middle of a rotation, deleted in the "+string(policy), func(ctx SpecContext) {
			w := newWorld(ctx)
			w.start(300 * time.Millisecond)
			w.Settle(ctx)
			w.quiet(ctx)
			w.rotate(ctx, "one")
			Eventually(func() string { return w.rotated(ctx) }).Should(Equal("one"))
			Expect(env.Admin.Delete(ctx, w.Server(ctx), client.PropagationPolicy(policy))).To(Succeed())
			w.everythingGone(ctx)
		})
	}

	It("leaves the key, terminating and readable, until no team needs it", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(300 * time.Millisecond)
		w.Settle(ctx)
		w.quiet(ctx)
		w.attach(ctx, "platform")
		key, uid := w.Key(ctx), alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName).UID
		Expect(env.Admin.Delete(ctx, w.Server(ctx), client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(w.Gone(ctx, &appsv1.Deployment{}, name)).Should(BeTrue())
		Eventually(func() bool {
			return alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName).DeletionTimestamp != nil
		}).Should(BeTrue())
		Consistently(func(g Gomega) {
			secret := &corev1.Secret{}
			g.Expect(env.Admin.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: credentialsName}, secret)).To(Succeed())
			g.Expect(secret.UID).To(Equal(uid))
			g.Expect(string(secret.Data["key"])).To(Equal(key))
			g.Expect(w.Gone(ctx, &corev1.Secret{}, nextName)()).To(BeTrue(), "nothing is made again")
		}, time.Second).Should(Succeed())
		alone.Change(ctx, w.World, &v1alpha1.TerdutTeam{}, "platform", func(t *v1alpha1.TerdutTeam) { t.Finalizers = nil })
		Expect(client.IgnoreNotFound(env.Admin.Delete(ctx, &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "platform"}}))).To(Succeed())
		w.everythingGone(ctx)
	})

	It("comes with its namespace", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(300 * time.Millisecond)
		w.Settle(ctx)
		w.quiet(ctx)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
		Expect(env.Admin.Delete(ctx, namespace)).To(Succeed())
		w.everythingGone(ctx)
	})

	It("lets Secrets go whose server was taken away by force", func(ctx SpecContext) {
		w := newWorld(ctx)
		o := w.start(time.Hour)
		w.Settle(ctx)
		w.quiet(ctx)
		o.crash()
		alone.Change(ctx, w.World, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) { s.Finalizers = nil })
		Expect(env.Admin.Delete(ctx, w.Server(ctx))).To(Succeed())
		w.start(time.Hour)
		w.everythingGone(ctx)
	})
})
