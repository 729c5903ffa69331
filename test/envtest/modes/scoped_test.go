package modes_test

import (
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("Scoped", func() {
	for _, lacks := range [][]string{nil, {"chosen-keys"}, {"chosen-keys", "list-keys"}} {
		It(fmt.Sprintf("gives each team one key, which reaches that team only (without %v)", lacks), func(ctx SpecContext) {
			i := newInstall(ctx, v1alpha1.CredentialsScoped, lacks...)
			ours, theirs := i.team(ctx, i.Tenant, "Ours"), i.team(ctx, i.Tenant, "Theirs")
			first, second := i.hasKey(ctx, ours), i.hasKey(ctx, theirs)
			Expect(first).NotTo(Equal(second))
			Eventually(env.Told(ctx, ours, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
			own, other := fmt.Sprintf("/api/teams/%d/integrations", ours.Status.TeamID), fmt.Sprintf("/api/teams/%d/integrations", theirs.Status.TeamID)
			Expect(i.ask(ctx, first, own)).To(Equal(http.StatusOK))
			Expect(i.ask(ctx, first, other)).To(Equal(http.StatusForbidden))
			Expect(i.ask(ctx, first, "/api/users")).To(Equal(http.StatusForbidden))
			Expect(i.ask(ctx, second, other)).To(Equal(http.StatusOK))
			Expect(i.accounts()).To(HaveLen(2))

			made := keySecret(ctx, ours)
			Expect(metav1.IsControlledBy(made, ours)).To(BeTrue())
			Expect(made.Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.ManagedBy))
			Expect(made.Data).To(HaveLen(3))
			Expect(string(made.Data[v1alpha1.CredentialsURLKey])).To(Equal(fmt.Sprintf("http://terdut.%s.svc:8080", i.Platform)))
			Expect(made.Data).To(HaveKeyWithValue(v1alpha1.CredentialsInternalURLKey, made.Data[v1alpha1.CredentialsURLKey]))
			Expect(ours.Status.Credentials).To(HaveValue(And(HaveField("SecretName", made.Name), HaveField("KeyID", i.Peer.KeyID(first)))))
			Expect(i.mirror(ctx, i.Tenant)).To(BeNil())

			By("the team being deleted")
			remove(ctx, ours)
			Expect(i.accounts()).To(HaveLen(1))
			Expect(i.Peer.KeyID(first)).To(BeZero())
		})
	}

	DescribeTable("makes a new key and revokes the old one when", func(ctx SpecContext, spoil func(ctx SpecContext, i *install, t *v1alpha1.TerdutTeam)) {
		i := newInstall(ctx, v1alpha1.CredentialsScoped)
		t := i.team(ctx, i.Tenant, "Ours")
		old := i.hasKey(ctx, t)
		spoil(ctx, i, t)
		Eventually(func() string { return key(keySecret(ctx, t)) }).Should(And(Not(BeEmpty()), Not(Equal(old)), Not(Equal("chosen by somebody"))))
		Eventually(func() int64 { return i.Peer.KeyID(key(keySecret(ctx, t))) }).ShouldNot(BeZero())
		Expect(i.Peer.KeyID(old)).To(BeZero())
		Expect(i.accounts()).To(HaveLen(1))
		env.EventuallyEvent(ctx, t, HavePrefix("Warning Rotated"))
	},
		Entry("its Secret is deleted", func(ctx SpecContext, _ *install, t *v1alpha1.TerdutTeam) {
			Expect(env.Admin.Delete(ctx, keySecret(ctx, t))).To(Succeed())
		}),
		Entry("somebody writes a key of their own", func(ctx SpecContext, _ *install, t *v1alpha1.TerdutTeam) {
			steps.Change(ctx, env, keySecret(ctx, t), func(s *corev1.Secret) { s.Data[v1alpha1.CredentialsKey] = []byte("chosen by somebody") })
		}),
		Entry("the key is taken out", func(ctx SpecContext, _ *install, t *v1alpha1.TerdutTeam) {
			steps.Change(ctx, env, keySecret(ctx, t), func(s *corev1.Secret) { delete(s.Data, v1alpha1.CredentialsKey) })
		}),
		Entry("an older Secret is restored", func(ctx SpecContext, i *install, t *v1alpha1.TerdutTeam) {
			backup := keySecret(ctx, t)
			Expect(env.Admin.Delete(ctx, keySecret(ctx, t))).To(Succeed())
			Eventually(func() string { return key(keySecret(ctx, t)) }).ShouldNot(Or(BeEmpty(), Equal(key(backup))))
			steps.Change(ctx, env, keySecret(ctx, t), func(s *corev1.Secret) { s.Data, s.Annotations = backup.Data, backup.Annotations })
		}),
		Entry("the key is revoked on the server", func(_ SpecContext, i *install, t *v1alpha1.TerdutTeam) {
			Expect(i.Peer.Model().DeleteKey(t.Status.Credentials.AccountID, t.Status.Credentials.KeyID)).To(Succeed())
		}),
	)

	It("leaves a Secret of somebody else alone and says so", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsScoped)
		theirs := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: i.Tenant, Name: v1alpha1.TeamCredentialsSecretName("ours")}, Data: map[string][]byte{"key": []byte("of somebody else")},
		}
		env.Create(ctx, theirs)
		t := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: i.Tenant, Name: "ours"}}
		t.Spec.ServerRef, t.Spec.DisplayName = v1alpha1.ServerRef{Name: i.Server.Name, Namespace: i.Platform}, "Ours"
		env.Create(ctx, t)
		env.EventuallyTold(ctx, t, v1alpha1.ConditionCredentialsReady, "False NameConflict")
		Expect(env.Told(ctx, t, v1alpha1.ConditionSynced)()).To(Equal("True InSync"))
		before := theirs.ResourceVersion
		Expect(env.Read(ctx, theirs)).To(Succeed())
		Expect(theirs.ResourceVersion).To(Equal(before))
		Expect(i.accounts()).To(BeEmpty())
		Expect(env.Admin.Delete(ctx, theirs)).To(Succeed())
		i.hasKey(ctx, t)
	})

	It("counts for Ready on a server without service accounts, where it is asked for by name", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsScoped, "service-accounts")
		t := i.team(ctx, i.Tenant, "Ours")
		env.EventuallyTold(ctx, t, v1alpha1.ConditionReady, "False ScopedUnavailable")
		Expect(env.Told(ctx, t, v1alpha1.ConditionSynced)()).To(Equal("True InSync"))
		Expect(keySecret(ctx, t)).To(BeNil())
		Expect(steps.Message(t, v1alpha1.ConditionReady)).To(ContainSubstring("spec.credentials.mode"))
	})

	It("is not what Auto chooses then, and no team is the worse for it", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsAuto, "service-accounts")
		t := i.team(ctx, i.Tenant, "Ours")
		Eventually(i.mode(ctx)).Should(Equal(v1alpha1.CredentialsOperatorOnly))
		i.hasNoKey(ctx, t)
		Expect(i.mirror(ctx, i.Tenant)).To(BeNil())
	})

	It("is never used by the operator itself", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsAuto)
		Eventually(i.mode(ctx)).Should(Equal(v1alpha1.CredentialsScoped))
		t := i.team(ctx, i.Tenant, "Ours")
		i.hasKey(ctx, t)
		account := t.Status.Credentials.Account
		Consistently(func() []string {
			var actors []string
			for _, r := range i.Peer.Requests() {
				actors = append(actors, r.Actor)
			}
			return actors
		}, 2*resync).ShouldNot(ContainElement(account))
	})
})
