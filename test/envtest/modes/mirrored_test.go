package modes_test

import (
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("Mirrored", func() {
	It("copies the key to each namespace with a permitted team, once, and to no other", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		second := env.NewNamespace(ctx, "tenant", sample.Admitted())
		idle := env.NewNamespace(ctx, "idle", sample.Admitted())
		stranger := env.NewNamespace(ctx, "stranger", nil)
		foreign := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: stranger, Name: "stranger"}}
		foreign.Spec.ServerRef, foreign.Spec.DisplayName = v1alpha1.ServerRef{Name: i.Server.Name, Namespace: i.Platform}, "Stranger"
		env.Create(ctx, foreign)
		one, two, far, near := i.team(ctx, i.Tenant, "One"), i.team(ctx, i.Tenant, "Two"), i.team(ctx, second, "Far"), i.team(ctx, i.Platform, "Near")
		i.hasMirror(ctx, i.Tenant)
		i.hasMirror(ctx, second)
		for _, t := range []*v1alpha1.TerdutTeam{one, two, far, near} {
			i.hasNoKey(ctx, t)
		}
		env.EventuallyTold(ctx, foreign, v1alpha1.ConditionReady, "False RefNotPermitted")
		for _, none := range []string{idle, stranger, i.Platform} {
			Expect(i.mirror(ctx, none)).To(BeNil(), none)
		}
		copied := i.mirror(ctx, i.Tenant)
		Expect(copied.Data).To(HaveLen(3))
		Expect(string(copied.Data[v1alpha1.CredentialsURLKey])).To(Equal(fmt.Sprintf("http://terdut.%s.svc:8080", i.Platform)))
		Expect(copied.OwnerReferences).To(BeEmpty())
		Expect(i.ask(ctx, key(copied), "/api/users")).To(Equal(http.StatusOK))
		env.EventuallyEvent(ctx, i.Server, And(HavePrefix("Warning CredentialsMirrored"), ContainSubstring(i.Tenant), ContainSubstring("administrator")))
		Eventually(func() *v1alpha1.ServerCredentialsStatus {
			Expect(env.Read(ctx, i.Server)).To(Succeed())
			return i.Server.Status.Credentials
		}).Should(HaveValue(And(HaveField("Mirrors", int32(2)), HaveField("MirrorNamespaces", ConsistOf(i.Tenant, second)))))

		By("a copy being changed, and one being deleted")
		steps.Change(ctx, env, copied, func(s *corev1.Secret) { s.Data[v1alpha1.CredentialsKey] = []byte("not the key at all") })
		i.hasMirror(ctx, i.Tenant)
		Expect(env.Admin.Delete(ctx, i.mirror(ctx, second))).To(Succeed())
		i.hasMirror(ctx, second)

		By("one of two teams of a namespace being deleted, and then the other")
		remove(ctx, one)
		Consistently(func() *corev1.Secret { return i.mirror(ctx, i.Tenant) }, resync).ShouldNot(BeNil())
		remove(ctx, two)
		i.hasNoMirror(ctx, i.Tenant)
		i.hasMirror(ctx, second)

		By("the server being deleted")
		remove(ctx, far, near)
		remove(ctx, i.Server)
		Expect(i.mirror(ctx, second)).To(BeNil())
	})

	It("takes the copy away with the consent, keeps the team, and exchanges the key", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		second := env.NewNamespace(ctx, "tenant", sample.Admitted())
		steps.Change(ctx, env, i.Server, func(s *v1alpha1.TerdutServer) { s.Spec.Credentials.GracePeriod = nil })
		t, other := i.team(ctx, i.Tenant, "Ours"), i.team(ctx, second, "Other")
		i.hasMirror(ctx, i.Tenant)
		i.hasMirror(ctx, second)
		old := i.operatorKey(ctx)
		admit(ctx, i.Tenant, false)
		i.hasNoMirror(ctx, i.Tenant)
		env.EventuallyTold(ctx, t, v1alpha1.ConditionReady, "False RefNotPermitted")
		Expect(i.Peer.Teams()).To(HaveLen(2))
		Eventually(func() string { return i.operatorKey(ctx) }).ShouldNot(Equal(old))
		i.hasMirror(ctx, second)
		env.EventuallyTold(ctx, i.Server, v1alpha1.ConditionCredentialsExposed, "True MirrorRemoved")
		// The old key is valid for an hour yet, and so the exposure stays.
		Consistently(env.Told(ctx, i.Server, v1alpha1.ConditionCredentialsExposed), 2*resync).Should(Equal("True MirrorRemoved"))
		Expect(steps.Message(i.Server, v1alpha1.ConditionCredentialsExposed)).To(And(ContainSubstring(i.Tenant), Not(ContainSubstring(second))))
		Expect(env.Told(ctx, i.Server, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
		Expect(i.Peer.KeyID(old)).NotTo(BeZero())
		Expect(i.Server.Status.Credentials.Retiring).To(HaveValue(HaveField("KeyID", i.Peer.KeyID(old))))
		env.EventuallyEvent(ctx, i.Server, And(HavePrefix("Warning MirrorRemoved"), ContainSubstring(i.Tenant)))

		By("the consent being back")
		admit(ctx, i.Tenant, true)
		i.hasMirror(ctx, i.Tenant)
		Eventually(env.Told(ctx, t, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
		Eventually(env.Told(ctx, i.Server, v1alpha1.ConditionCredentialsExposed)).Should(BeEmpty())
		Expect(other.Status.TeamID).NotTo(BeZero())
	})

	It("says that a key is exposed no longer once it is revoked", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		t := i.team(ctx, i.Tenant, "Ours")
		i.hasMirror(ctx, i.Tenant)
		old := i.operatorKey(ctx)
		remove(ctx, t)
		i.hasNoMirror(ctx, i.Tenant)
		Eventually(func() int64 { return i.Peer.KeyID(old) }).Should(BeZero())
		env.EventuallyEvent(ctx, i.Server, And(HavePrefix("Warning MirrorRemoved"), ContainSubstring(i.Tenant)))
		Eventually(env.Told(ctx, i.Server, v1alpha1.ConditionCredentialsExposed)).Should(BeEmpty())
		// No condition may also be one that has not come yet.
		Eventually(func() []v1alpha1.ExposedKey {
			env.Told(ctx, i.Server, v1alpha1.ConditionCredentialsExposed)()
			return i.Server.Status.Credentials.Exposed
		}).Should(BeEmpty())
	})

	It("leaves a Secret of somebody else alone and names the namespace", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: i.Tenant, Name: v1alpha1.MirrorSecretName(i.Server.Name, i.Platform),
			Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelCredentials: v1alpha1.CredentialsMirror, v1alpha1.LabelInstance: i.Server.Name},
		}, Data: map[string][]byte{"key": []byte("of somebody else")}}
		env.Create(ctx, theirs)
		version := theirs.ResourceVersion
		t := i.team(ctx, i.Tenant, "Ours")
		env.EventuallyEvent(ctx, i.Server, And(HavePrefix("Warning MirrorRefused"), ContainSubstring(i.Tenant)))
		env.EventuallyTold(ctx, i.Server, v1alpha1.ConditionMirrorsIncomplete, "True MirrorRefused")
		Expect(env.Told(ctx, i.Server, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
		Eventually(env.Told(ctx, t, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
		i.setMode(ctx, v1alpha1.CredentialsOperatorOnly, v1alpha1.CredentialsOperatorOnly)
		i.setMode(ctx, v1alpha1.CredentialsMirrored, v1alpha1.CredentialsMirrored)
		Expect(env.Read(ctx, theirs)).To(Succeed())
		Expect(theirs.ResourceVersion).To(Equal(version))
		Expect(env.Admin.Delete(ctx, theirs)).To(Succeed())
		i.hasMirror(ctx, i.Tenant)
		Eventually(env.Told(ctx, i.Server, v1alpha1.ConditionMirrorsIncomplete)).Should(BeEmpty())
	})

	It("gives nothing to a namespace that is going", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsMirrored)
		i.team(ctx, i.Tenant, "Ours")
		i.hasMirror(ctx, i.Tenant)
		// No controller of namespaces runs here: it stays in this state.
		Expect(env.Admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.Tenant}})).To(Succeed())
		i.hasNoMirror(ctx, i.Tenant)
		Consistently(func() *corev1.Secret { return i.mirror(ctx, i.Tenant) }, 2*resync).Should(BeNil())
		Expect(env.Told(ctx, i.Server, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
	})
})
