package modes_test

import (
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var _ = Describe("Mirrored", func() {
	It("copies the key to each namespace with a permitted team, once, and to no other", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		second := namespace(ctx, "tenant", map[string]string{allowed: "true"})
		idle := namespace(ctx, "idle", map[string]string{allowed: "true"})
		stranger := namespace(ctx, "stranger", nil)
		foreign := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: stranger, Name: "stranger"}}
		foreign.Spec.ServerRef, foreign.Spec.DisplayName = v1alpha1.ServerRef{Name: i.server.Name, Namespace: i.platform}, "Stranger"
		create(ctx, foreign)
		one, two, far, near := i.team(ctx, i.tenant, "One"), i.team(ctx, i.tenant, "Two"), i.team(ctx, second, "Far"), i.team(ctx, i.platform, "Near")
		i.hasMirror(ctx, i.tenant)
		i.hasMirror(ctx, second)
		for _, t := range []*v1alpha1.TerdutTeam{one, two, far, near} {
			i.hasNoKey(ctx, t)
		}
		eventuallyTold(ctx, foreign, v1alpha1.ConditionReady, "False RefNotPermitted")
		for _, none := range []string{idle, stranger, i.platform} {
			Expect(i.mirror(ctx, none)).To(BeNil(), none)
		}
		copied := i.mirror(ctx, i.tenant)
		Expect(copied.Data).To(HaveLen(3))
		Expect(string(copied.Data[v1alpha1.CredentialsURLKey])).To(Equal(fmt.Sprintf("http://terdut.%s.svc:8080", i.platform)))
		Expect(copied.OwnerReferences).To(BeEmpty())
		Expect(i.ask(ctx, key(copied), "/api/users")).To(Equal(http.StatusOK))
		eventuallyEvent(ctx, i.server, And(HavePrefix("Warning CredentialsMirrored"), ContainSubstring(i.tenant), ContainSubstring("administrator")))
		Eventually(func() *v1alpha1.ServerCredentialsStatus {
			Expect(read(ctx, i.server)).To(Succeed())
			return i.server.Status.Credentials
		}).Should(HaveValue(And(HaveField("Mirrors", int32(2)), HaveField("MirrorNamespaces", ConsistOf(i.tenant, second)))))

		By("a copy being changed, and one being deleted")
		change(ctx, copied, func(s *corev1.Secret) { s.Data[v1alpha1.CredentialsKey] = []byte("not the key at all") })
		i.hasMirror(ctx, i.tenant)
		Expect(env.Admin.Delete(ctx, i.mirror(ctx, second))).To(Succeed())
		i.hasMirror(ctx, second)

		By("one of two teams of a namespace being deleted, and then the other")
		remove(ctx, one)
		Consistently(func() *corev1.Secret { return i.mirror(ctx, i.tenant) }, resync).ShouldNot(BeNil())
		remove(ctx, two)
		i.hasNoMirror(ctx, i.tenant)
		i.hasMirror(ctx, second)

		By("the server being deleted")
		remove(ctx, far, near)
		remove(ctx, i.server)
		Expect(i.mirror(ctx, second)).To(BeNil())
	})

	It("takes the copy away with the consent, keeps the team, and exchanges the key", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		second := namespace(ctx, "tenant", map[string]string{allowed: "true"})
		change(ctx, i.server, func(s *v1alpha1.TerdutServer) { s.Spec.Credentials.GracePeriod = nil })
		t, other := i.team(ctx, i.tenant, "Ours"), i.team(ctx, second, "Other")
		i.hasMirror(ctx, i.tenant)
		i.hasMirror(ctx, second)
		old := i.operatorKey(ctx)
		admit(ctx, i.tenant, false)
		i.hasNoMirror(ctx, i.tenant)
		eventuallyTold(ctx, t, v1alpha1.ConditionReady, "False RefNotPermitted")
		Expect(i.peer.Teams()).To(HaveLen(2))
		Eventually(func() string { return i.operatorKey(ctx) }).ShouldNot(Equal(old))
		i.hasMirror(ctx, second)
		eventuallyTold(ctx, i.server, v1alpha1.ConditionCredentialsExposed, "True MirrorRemoved")
		// The old key is valid for an hour yet, and so the exposure stays.
		Consistently(told(ctx, i.server, v1alpha1.ConditionCredentialsExposed), 2*resync).Should(Equal("True MirrorRemoved"))
		Expect(message(i.server, v1alpha1.ConditionCredentialsExposed)).To(And(ContainSubstring(i.tenant), Not(ContainSubstring(second))))
		Expect(told(ctx, i.server, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
		Expect(i.peer.KeyID(old)).NotTo(BeZero())
		Expect(i.server.Status.Credentials.Retiring).To(HaveValue(HaveField("KeyID", i.peer.KeyID(old))))
		eventuallyEvent(ctx, i.server, And(HavePrefix("Warning MirrorRemoved"), ContainSubstring(i.tenant)))

		By("the consent being back")
		admit(ctx, i.tenant, true)
		i.hasMirror(ctx, i.tenant)
		Eventually(told(ctx, t, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
		Eventually(told(ctx, i.server, v1alpha1.ConditionCredentialsExposed)).Should(BeEmpty())
		Expect(other.Status.TeamID).NotTo(BeZero())
	})

	It("says that a key is exposed no longer once it is revoked", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		t := i.team(ctx, i.tenant, "Ours")
		i.hasMirror(ctx, i.tenant)
		old := i.operatorKey(ctx)
		remove(ctx, t)
		i.hasNoMirror(ctx, i.tenant)
		Eventually(func() int64 { return i.peer.KeyID(old) }).Should(BeZero())
		eventuallyEvent(ctx, i.server, And(HavePrefix("Warning MirrorRemoved"), ContainSubstring(i.tenant)))
		Eventually(told(ctx, i.server, v1alpha1.ConditionCredentialsExposed)).Should(BeEmpty())
		// No condition may also be one that has not come yet.
		Eventually(func() []v1alpha1.ExposedKey {
			told(ctx, i.server, v1alpha1.ConditionCredentialsExposed)()
			return i.server.Status.Credentials.Exposed
		}).Should(BeEmpty())
	})

	It("leaves a Secret of somebody else alone and names the namespace", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: i.tenant, Name: v1alpha1.MirrorSecretName(i.server.Name, i.platform),
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelCredentials: v1alpha1.CredentialsMirror, v1alpha1.LabelInstance: i.server.Name},
		}, Data: map[string][]byte{"key": []byte("of somebody else")}}
		create(ctx, theirs)
		version := theirs.ResourceVersion
		t := i.team(ctx, i.tenant, "Ours")
		eventuallyEvent(ctx, i.server, And(HavePrefix("Warning MirrorRefused"), ContainSubstring(i.tenant)))
		eventuallyTold(ctx, i.server, v1alpha1.ConditionMirrorsIncomplete, "True MirrorRefused")
		Expect(told(ctx, i.server, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
		Eventually(told(ctx, t, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
		i.setMode(ctx, v1alpha1.CredentialsOperatorOnly, v1alpha1.CredentialsOperatorOnly)
		i.setMode(ctx, v1alpha1.CredentialsMirrored, v1alpha1.CredentialsMirrored)
		Expect(read(ctx, theirs)).To(Succeed())
		Expect(theirs.ResourceVersion).To(Equal(version))
		Expect(env.Admin.Delete(ctx, theirs)).To(Succeed())
		i.hasMirror(ctx, i.tenant)
		Eventually(told(ctx, i.server, v1alpha1.ConditionMirrorsIncomplete)).Should(BeEmpty())
	})

	It("gives nothing to a namespace that is going", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		i.team(ctx, i.tenant, "Ours")
		i.hasMirror(ctx, i.tenant)
		// No controller of namespaces runs here: it stays in this state.
		Expect(env.Admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.tenant}})).To(Succeed())
		i.hasNoMirror(ctx, i.tenant)
		Consistently(func() *corev1.Secret { return i.mirror(ctx, i.tenant) }, 2*resync).Should(BeNil())
		Expect(told(ctx, i.server, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
	})
})
