package identity_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

const bootstrapRoute = "POST /api/bootstrap"

// on disturbs one route.
func on(route string, fault refserver.Fault) refserver.FaultFunc {
	return func(_ *http.Request, got string) refserver.Fault {
		if got == route {
			return fault
		}
		return nil
	}
}

// once disturbs one request of a route.
func once(route string, fault refserver.Fault) refserver.FaultFunc {
	var done atomic.Bool
	return func(_ *http.Request, got string) refserver.Fault {
		if got == route && done.CompareAndSwap(false, true) {
			return fault
		}
		return nil
	}
}

func withAdminKey(s *v1alpha1.TerdutServer) {
	s.Spec.Bootstrap = &v1alpha1.ServerBootstrap{AdminKeySecretRef: &v1alpha1.SecretKeyRef{Name: "admin"}}
}

// quiet waits until the exchange of keys is over.
func (w *world) quiet(ctx context.Context) {
	GinkgoHelper()
	w.Ready(ctx)
	Eventually(func(g Gomega) {
		s := &v1alpha1.TerdutServer{}
		g.Expect(env.Admin.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: name}, s)).To(Succeed())
		g.Expect(s.Status.OperatorCredentialsSecretRef).NotTo(BeNil())
		if s.Status.Credentials != nil {
			g.Expect(s.Status.Credentials.Retiring).To(BeNil())
		}
		g.Expect(w.Gone(ctx, &corev1.Secret{}, nextName)()).To(BeTrue())
	}).Should(Succeed())
}

// single checks that the operator has one live key, and that it is in its
// Secret with what belongs to it. others is how many more keys are live.
func (w *world) single(ctx context.Context, others int) *corev1.Secret {
	GinkgoHelper()
	secret := alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName)
	Expect(w.Remote.KeyID(string(secret.Data["key"]))).NotTo(BeZero())
	Expect(w.Remote.LiveKeys()).To(HaveLen(1 + others))
	Expect(secret.Finalizers).To(ContainElement(v1alpha1.Finalizer))
	return secret
}

var _ = Describe("the ladder", func() {
	It("ends on a service account of the operator's where there are those", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		w.quiet(ctx)
		secret := w.single(ctx, 0)
		accounts := w.Remote.Accounts()
		Expect(accounts).To(HaveLen(1))
		Expect(accounts[0].Name).To(Equal("terdut-operator:" + w.Namespace + "/terdut:" + string(w.Server(ctx).UID)[:8]))
		Expect(secret.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationServiceAccount, "true"))
		Expect(secret.Annotations).To(HaveKey(v1alpha1.AnnotationKeyID))
		Expect(secret.Annotations).To(HaveKey(v1alpha1.AnnotationUserID))
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True Bootstrapped"))
		Expect(w.Server(ctx).Status.Capabilities).To(ContainElement(v1alpha1.ServerCapability{
			Name: v1alpha1.CapabilityServiceAccounts, State: v1alpha1.CapabilityPresent, Source: "version",
		}))
	})

	DescribeTable("stays on the user of the bootstrap without service accounts", func(ctx SpecContext, lacking ...string) {
		w := newWorld(ctx)
		w.lacking(lacking...)
		w.start(time.Hour)
		w.Settle(ctx)
		w.quiet(ctx)
		w.single(ctx, 0)
		Expect(w.Remote.Accounts()).To(BeEmpty())
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True Bootstrapped"))
	},
		Entry("alone", "service-accounts"),
		Entry("nor chosen keys", "service-accounts", "chosen-keys"),
		Entry("nor anything else", "service-accounts", "chosen-keys", "version", "me", "list-keys"),
	)

	It("loses no bootstrap answer where keys can be chosen", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Second)
		w.Remote.SetFault(once(bootstrapRoute, refserver.LoseAnswer))
		w.Settle(ctx)
		w.quiet(ctx)
		w.single(ctx, 0)
	})

	It("declares the loss where they cannot be, and lets the empty Secret go at once", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.lacking("chosen-keys")
		w.start(time.Second)
		w.Remote.SetFault(once(bootstrapRoute, refserver.LoseAnswer))
		w.Create(ctx)
		w.RollOut(ctx, true)
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False BootstrapKeyLost"))
		Expect(w.Message(ctx, v1alpha1.ConditionBootstrapped)).To(And(
			ContainSubstring("spec.bootstrap.adminKeySecretRef"), ContainSubstring(credentialsName)))
		lost := alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName)
		w.replace()
		Expect(env.Admin.Delete(ctx, lost)).To(Succeed())
		w.Ready(ctx)
		w.quiet(ctx)
		w.single(ctx, 0)
	})

	DescribeTable("gets a key of its own beside the administrator's", func(ctx SpecContext, accounts int, lacking ...string) {
		w := newWorld(ctx)
		w.lacking(lacking...)
		_, key, err := w.Remote.AddUser("somebody", true)
		Expect(err).NotTo(HaveOccurred())
		w.Secret(ctx, "admin", map[string]string{"key": " " + key + "\n"})
		w.start(time.Hour)
		w.Settle(ctx, withAdminKey)
		w.quiet(ctx)
		w.single(ctx, 1)
		Expect(w.Key(ctx)).NotTo(Equal(key))
		Expect(w.Remote.KeyID(key)).NotTo(BeZero(), "the administrator's key is not ours to revoke")
		Expect(w.Remote.Accounts()).To(HaveLen(accounts))
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True AdminKeyProvided"))
	},
		Entry("on a service account", 1),
		Entry("on the same user", 0, "service-accounts"),
		Entry("on the same user, of a server that tells nothing", 0, "service-accounts", "version", "chosen-keys", "list-keys"),
	)

	It("shares the administrator's key where nobody can tell whose it is", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.lacking("service-accounts", "me", "version")
		_, key, err := w.Remote.AddUser("somebody", true)
		Expect(err).NotTo(HaveOccurred())
		w.Secret(ctx, "admin", map[string]string{"key": key})
		w.start(time.Hour)
		w.Settle(ctx, withAdminKey)
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True SharedIdentity"))
		Expect(w.Key(ctx)).To(Equal(key))
		Expect(w.Remote.LiveKeys()).To(HaveLen(1))
	})

	It("keeps the key of before when a new one cannot do the same", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.lacking("service-accounts", "version")
		w.start(time.Second)
		w.Settle(ctx)
		w.quiet(ctx)
		_, err := w.Remote.Model().CreateTeam("platform")
		Expect(err).NotTo(HaveOccurred())
		before := w.Key(ctx)
		w.Remote.SetFault(on("PUT /api/teams/{teamID}", refserver.JSONError(http.StatusForbidden, "no")))
		w.rotate(ctx, "one")
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix("Warning RotationFailed")))
		Eventually(func() int { return len(w.Remote.LiveKeys()) }).Should(Equal(1))
		Expect(w.Key(ctx)).To(Equal(before))
		w.Ready(ctx)
		w.Remote.SetFault(nil)
		w.pass(2 * time.Second)
		Eventually(func() string { return w.rotated(ctx) }).Should(Equal("one"))
	})

	It("believes that a part is missing only after three probes", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.lacking("service-accounts", "version")
		w.start(300 * time.Millisecond)
		w.Settle(ctx)
		state := func() v1alpha1.CapabilityState {
			for _, c := range w.Server(ctx).Status.Capabilities {
				if c.Name == v1alpha1.CapabilityServiceAccounts {
					return c.State
				}
			}
			return ""
		}
		probes := func() int { return w.Requests("GET", "") }
		Eventually(state).Should(Equal(v1alpha1.CapabilityUnknown))
		for range 2 {
			Expect(state()).To(Equal(v1alpha1.CapabilityUnknown))
			before := probes()
			w.pass(5 * time.Minute)
			Eventually(probes).Should(BeNumerically(">", before))
		}
		Eventually(state).Should(Equal(v1alpha1.CapabilityAbsent))
		// An upgrade brings it, and a new probe finds it.
		w.lacking()
		w.pass(time.Hour)
		Eventually(state).Should(Equal(v1alpha1.CapabilityPresent))
		Eventually(func() int { return len(w.Remote.Accounts()) }).Should(Equal(1))
	})

	It("asks nothing at rest", func(ctx SpecContext) {
		w := newWorld(ctx)
		o := w.start(time.Hour)
		w.Settle(ctx)
		w.quiet(ctx)
		// What is still on its way: the cache learns of the last Secret.
		seen := -1
		Eventually(func() bool {
			before := seen
			seen = len(w.Remote.Requests()) + o.count()
			return seen == before
		}).WithPolling(300 * time.Millisecond).Should(BeTrue())
		requests, effects := len(w.Remote.Requests()), o.count()
		Consistently(func() int { return len(w.Remote.Requests()) - requests + o.count() - effects }, time.Second).Should(BeZero())
		Expect(strings.Join(w.Events(ctx)(), "\n")).NotTo(ContainSubstring(w.Key(ctx)))
	})
})

// replace puts an empty server in the place of the one that was there.
func (w *world) replace() {
	GinkgoHelper()
	fresh, err := refserver.New(refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	w.Remote.SetFault(func(*http.Request, string) refserver.Fault {
		return func(rw http.ResponseWriter, r *http.Request, _ http.Handler) { fresh.ServeHTTP(rw, r) }
	})
	w.Remote = fresh
}
