package identity_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

// rotate asks for a new key.
func (w *world) rotate(ctx context.Context, token string) {
	GinkgoHelper()
	alone.Change(ctx, w.World, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) {
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[v1alpha1.AnnotationRotate] = token
	})
}

// rotated is the token that was acknowledged.
func (w *world) rotated(ctx context.Context) string {
	if s := w.Server(ctx).Status.Credentials; s != nil {
		return s.Rotated
	}
	return ""
}

// withGrace sets how long an exchanged key stays valid.
func withGrace(grace v1alpha1.Grace) func(*v1alpha1.TerdutServer) {
	return func(s *v1alpha1.TerdutServer) {
		s.Spec.Credentials = &v1alpha1.ServerCredentials{GracePeriod: ptr.To(grace)}
	}
}

// mirrored has the key copied to the namespaces of teams, all of which are
// admitted.
func mirrored(s *v1alpha1.TerdutServer) {
	s.Spec.Credentials.Mode = v1alpha1.CredentialsMirrored
	s.Spec.AllowedTeams.Namespaces.From = v1alpha1.FromAll
}

// mirror makes a team in the tenant's namespace and returns a read of the key
// that is copied there; empty while there is none.
func (w *world) mirror(ctx context.Context) func() string {
	GinkgoHelper()
	team := &v1alpha1.TerdutTeam{}
	team.Namespace, team.Name = w.tenant, "payments"
	team.Spec = v1alpha1.TerdutTeamSpec{ServerRef: v1alpha1.ServerRef{Name: name, Namespace: w.Namespace}, DisplayName: "Payments"}
	Expect(env.Admin.Create(ctx, team)).To(Succeed())
	where := client.ObjectKey{Namespace: w.tenant, Name: v1alpha1.MirrorSecretName(name, w.Namespace)}
	return func() string {
		secret := &corev1.Secret{}
		if err := env.Admin.Get(ctx, where, secret); err != nil {
			return ""
		}
		return string(secret.Data[v1alpha1.CredentialsKey])
	}
}

var variants = []TableEntry{
	Entry("with every capability"),
	Entry("without chosen keys", "chosen-keys"),
	Entry("without service accounts", "service-accounts"),
	Entry("without service accounts, chosen keys and version", "service-accounts", "chosen-keys", "version"),
}

var _ = Describe("rotation", func() {
	DescribeTable("makes a new key, and revokes the old one when its time has come", func(ctx SpecContext, lacking ...string) {
		w := newWorld(ctx)
		w.lacking(lacking...)
		w.start(300 * time.Millisecond)
		w.Settle(ctx)
		w.quiet(ctx)
		old := w.Key(ctx)
		w.rotate(ctx, "one")
		Eventually(func() string { return w.rotated(ctx) }).Should(Equal("one"))
		Eventually(func() string { return w.Key(ctx) }).ShouldNot(Equal(old))
		retiring := w.Server(ctx).Status.Credentials.Retiring
		Expect(retiring).NotTo(BeNil())
		Expect(retiring.KeyID).To(Equal(w.Remote.KeyID(old)))
		Expect(string(alone.Get(ctx, w.World, &corev1.Secret{}, nextName).Data["key"])).To(Equal(w.Key(ctx)))
		Expect(w.Remote.LiveKeys()).To(HaveLen(2))

		// Its end is recorded once.
		alone.Change(ctx, w.World, &v1alpha1.TerdutServer{}, name, withGrace("99h"))
		Eventually(func() int64 { return w.Server(ctx).Status.ObservedGeneration }).Should(Equal(w.Server(ctx).Generation))
		Expect(w.Server(ctx).Status.Credentials.Retiring.RevokeAfter).To(Equal(retiring.RevokeAfter))
		w.pass(time.Hour + time.Second)
		w.quiet(ctx)
		w.single(ctx, 0)
		Expect(w.Remote.KeyID(old)).To(BeZero())
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix("Normal Revoked")))
	}, variants)

	It("happens by age", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(300 * time.Millisecond)
		w.Settle(ctx, func(s *v1alpha1.TerdutServer) {
			s.Spec.Credentials = &v1alpha1.ServerCredentials{RotateAfter: "24h", GracePeriod: ptr.To(v1alpha1.Grace("0s"))}
		})
		w.quiet(ctx)
		old := w.Key(ctx)
		w.pass(23 * time.Hour)
		Consistently(func() string { return w.Key(ctx) }, time.Second).Should(Equal(old))
		w.pass(2 * time.Hour)
		Eventually(func() string { return w.Key(ctx) }).ShouldNot(Equal(old))
		w.quiet(ctx)
		w.single(ctx, 0)
	})

	It("says when the old key cannot be accounted for", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.lacking("service-accounts", "list-keys", "version")
		w.start(300 * time.Millisecond)
		w.Settle(ctx)
		w.quiet(ctx)
		w.rotate(ctx, "one")
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix("Warning KeyUnaccounted")))
		Eventually(func() string { return w.rotated(ctx) }).Should(Equal("one"))
		w.quiet(ctx)
		Expect(w.Remote.LiveKeys()).To(HaveLen(2))
		// The next one is known: only the bootstrap's is not.
		w.rotate(ctx, "two")
		Eventually(func() string { return w.rotated(ctx) }).Should(Equal("two"))
		w.pass(2 * time.Hour)
		w.quiet(ctx)
		Expect(w.Remote.LiveKeys()).To(HaveLen(2))
	})

	It("fails no request of a tenant's tool that reads the mirror a minute late", func(ctx SpecContext) {
		w := newWorld(ctx)
		tenant := &corev1.Namespace{}
		tenant.GenerateName = "tenant-"
		Expect(env.Admin.Create(ctx, tenant)).To(Succeed())
		w.tenant = tenant.Name
		w.start(200 * time.Millisecond)
		w.Settle(ctx, withGrace("5m"), mirrored)
		mirror := w.mirror(ctx)
		w.quiet(ctx)
		old := w.Key(ctx)
		Eventually(mirror).Should(Equal(old))

		// key is what the tool has in its mounted file.
		key := old
		api, err := terdutapi.New(w.HTTP.URL, terdutapi.WithKey(func() string { return key }), terdutapi.WithHTTPClient(&http.Client{}))
		Expect(err).NotTo(HaveOccurred())
		failed, sent := 0, 0
		send := func(n int) {
			for range n {
				sent++
				if _, callErr := api.ListTeams(ctx); callErr != nil {
					failed++
				}
			}
		}

		w.rotate(ctx, "one")
		for mirror() == old {
			send(1) // while the key is made, written and copied
		}
		send(300)
		w.pass(time.Minute)
		send(300)
		key = mirror()
		Expect(key).NotTo(Equal(old))
		send(200)
		w.pass(5 * time.Minute)
		for w.Remote.KeyID(old) != 0 {
			send(1) // while the old key is revoked
		}
		send(max(200, 1000-sent))

		Expect(figures.Value(suite, "rotation-failed-requests", failed, "")).To(Succeed())
		Expect(failed).To(BeZero())
		Expect(sent).To(BeNumerically(">=", 1000))
		w.quiet(ctx)
		w.single(ctx, 0)
	}, SpecTimeout(2*patience))

	DescribeTable("converges with one key after an interruption at any effect", func(ctx SpecContext, lacking ...string) {
		w := newWorld(ctx)
		w.lacking(lacking...)
		o := w.start(300 * time.Millisecond)
		w.Settle(ctx, withGrace("0s"))
		w.quiet(ctx)
		_, err := w.Remote.Model().CreateTeam("platform")
		Expect(err).NotTo(HaveOccurred())

		survived, tried := 0, 0
		for _, after := range []bool{false, true} {
			for n := 1; ; n++ {
				token := fmt.Sprintf("%t-%d", after, n)
				before := w.Key(ctx)
				o.cutAt(n, after)
				w.rotate(ctx, token)
				done := func() bool {
					s := w.Server(ctx)
					return w.rotated(ctx) == token && s.Status.Credentials != nil && s.Status.Credentials.Retiring == nil &&
						w.Gone(ctx, &corev1.Secret{}, nextName)()
				}
				Eventually(func() bool { return o.isFenced() || done() }).Should(BeTrue(), token)
				reached := o.isFenced()
				if reached {
					tried++
					o.crash()
					o = w.start(300 * time.Millisecond)
				}
				Eventually(done).Should(BeTrue(), token)
				Eventually(func() int { return len(w.Remote.LiveKeys()) }).Should(Equal(1), token)
				Expect(w.Key(ctx)).NotTo(Equal(before), token)
				w.single(ctx, 0)
				if !reached {
					break
				}
				survived++
			}
		}
		Expect(tried).To(BeNumerically(">", 10))
		of := strings.Join(append([]string{"rotation-interruptions"}, lacking...), "-without-")
		Expect(figures.Count(suite, of, survived, tried)).To(Succeed())
	}, variants)

	DescribeTable("converges after a lost answer or a refusal", func(ctx SpecContext, route string, fault refserver.Fault, lacking ...string) {
		w := newWorld(ctx)
		w.lacking(lacking...)
		w.start(300 * time.Millisecond)
		w.Settle(ctx, withGrace("0s"))
		w.quiet(ctx)
		w.Remote.SetFault(once(route, fault))
		w.rotate(ctx, "one")
		Eventually(func() string {
			w.pass(10 * time.Second)
			return w.rotated(ctx)
		}).Should(Equal("one"))
		w.pass(2 * time.Minute)
		w.quiet(ctx)
		Eventually(func() int { return len(w.Remote.LiveKeys()) }).Should(Equal(1))
		w.single(ctx, 0)
	},
		Entry("to a new key of the account", "POST /api/service-accounts/{accountID}/keys", refserver.Fault(refserver.LoseAnswer)),
		Entry("to one that was not chosen", "POST /api/service-accounts/{accountID}/keys", refserver.Fault(refserver.LoseAnswer), "chosen-keys"),
		Entry("to one of the user", "POST /api/users/{userID}/api-keys", refserver.Fault(refserver.LoseAnswer), "service-accounts", "chosen-keys"),
		Entry("to a revocation", "DELETE /api/service-accounts/{accountID}/keys/{keyID}", refserver.Fault(refserver.LoseAnswer)),
		Entry("of a revocation", "DELETE /api/service-accounts/{accountID}/keys/{keyID}", refserver.JSONError(http.StatusInternalServerError, "boom")),
		Entry("of the mint", "POST /api/service-accounts/{accountID}/keys", refserver.JSONError(http.StatusForbidden, "no")),
	)

	DescribeTable("puts a Secret back that somebody deletes", func(ctx SpecContext, restart bool) {
		w := newWorld(ctx)
		o := w.start(300 * time.Millisecond)
		w.Settle(ctx)
		w.quiet(ctx)
		if restart {
			o.crash()
		}
		secret := alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName)
		Expect(env.Admin.Delete(ctx, secret)).To(Succeed())
		if restart {
			w.start(300 * time.Millisecond)
		}
		Eventually(func() bool {
			again := &corev1.Secret{}
			err := env.Admin.Get(ctx, client.ObjectKeyFromObject(secret), again)
			return err == nil && again.UID != secret.UID && string(again.Data["key"]) == string(secret.Data["key"])
		}).Should(BeTrue())
		w.quiet(ctx)
		w.single(ctx, 0)
		Expect(alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName).Annotations).To(HaveKeyWithValue(
			v1alpha1.AnnotationKeyID, secret.Annotations[v1alpha1.AnnotationKeyID]))
		Expect(w.Requests("POST", "/api/bootstrap")).To(Equal(1))
	},
		Entry("while the operator runs", false),
		Entry("while it does not", true),
	)

	It("writes back one that is gone although it had a finalizer", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(300 * time.Millisecond)
		w.Settle(ctx)
		w.quiet(ctx)
		secret := alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName)
		alone.Change(ctx, w.World, &corev1.Secret{}, credentialsName, func(s *corev1.Secret) { s.Finalizers = nil })
		Expect(client.IgnoreNotFound(env.Admin.Delete(ctx, secret.DeepCopy()))).To(Succeed())
		Eventually(func() string {
			again := &corev1.Secret{}
			if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(secret), again); err != nil || again.UID == secret.UID {
				return ""
			}
			return string(again.Data["key"])
		}).Should(Equal(string(secret.Data["key"])))
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix("Warning DriftCorrected")))
		w.quiet(ctx)
		w.single(ctx, 0)
	})
})
