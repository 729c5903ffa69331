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

// everythingGone waits for the end of the server and of its Secrets.
func (w *world) everythingGone(ctx context.Context) {
	GinkgoHelper()
	Eventually(gone(ctx, w, &v1alpha1.TerdutServer{}, name)).Should(BeTrue())
	for _, of := range []string{credentialsName, nextName} {
		Eventually(gone(ctx, w, &corev1.Secret{}, of)).Should(BeTrue(), of)
	}
}

var _ = Describe("the end of a server", func() {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		It("comes when it is deleted in the "+string(policy), func(ctx SpecContext) {
			w := newWorld(ctx)
			w.start(time.Hour)
			w.settle(ctx)
			w.quiet(ctx)
			Expect(admin.Delete(ctx, w.server(ctx), client.PropagationPolicy(policy))).To(Succeed())
			w.everythingGone(ctx)
		})

		It("comes in the middle of a rotation, deleted in the "+string(policy), func(ctx SpecContext) {
			w := newWorld(ctx)
			w.start(300 * time.Millisecond)
			w.settle(ctx)
			w.quiet(ctx)
			w.rotate(ctx, "one")
			Eventually(func() string { return w.rotated(ctx) }).Should(Equal("one"))
			Expect(admin.Delete(ctx, w.server(ctx), client.PropagationPolicy(policy))).To(Succeed())
			w.everythingGone(ctx)
		})
	}

	It("leaves the key, terminating and readable, until no team needs it", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(300 * time.Millisecond)
		w.settle(ctx)
		w.quiet(ctx)
		w.attach(ctx, "platform")
		key, uid := w.key(ctx), get(ctx, w, &corev1.Secret{}, credentialsName).UID
		Expect(admin.Delete(ctx, w.server(ctx), client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(gone(ctx, w, &appsv1.Deployment{}, name)).Should(BeTrue())
		Eventually(func() bool { return get(ctx, w, &corev1.Secret{}, credentialsName).DeletionTimestamp != nil }).Should(BeTrue())
		Consistently(func(g Gomega) {
			secret := &corev1.Secret{}
			g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: credentialsName}, secret)).To(Succeed())
			g.Expect(secret.UID).To(Equal(uid))
			g.Expect(string(secret.Data["key"])).To(Equal(key))
			g.Expect(gone(ctx, w, &corev1.Secret{}, nextName)()).To(BeTrue(), "nothing is made again")
		}, time.Second).Should(Succeed())
		change(ctx, w, &v1alpha1.TerdutTeam{}, "platform", func(t *v1alpha1.TerdutTeam) { t.Finalizers = nil })
		Expect(client.IgnoreNotFound(admin.Delete(ctx, &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "platform"}}))).To(Succeed())
		w.everythingGone(ctx)
	})

	It("comes with its namespace", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(300 * time.Millisecond)
		w.settle(ctx)
		w.quiet(ctx)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
		Expect(admin.Delete(ctx, namespace)).To(Succeed())
		w.everythingGone(ctx)
	})

	It("lets Secrets go whose server was taken away by force", func(ctx SpecContext) {
		w := newWorld(ctx)
		o := w.start(time.Hour)
		w.settle(ctx)
		w.quiet(ctx)
		o.crash()
		change(ctx, w, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) { s.Finalizers = nil })
		Expect(admin.Delete(ctx, w.server(ctx))).To(Succeed())
		w.start(time.Hour)
		w.everythingGone(ctx)
	})
})
