package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

const bootstrapRoute = "POST /api/bootstrap"

// withAdminKey names the Secret "admin" in the spec.
func withAdminKey(s *v1alpha1.TerdutServer) {
	s.Spec.Bootstrap = &v1alpha1.ServerBootstrap{AdminKeySecretRef: &v1alpha1.SecretKeyRef{Name: "admin"}}
}

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

// hang answers nothing until the caller gives up, which net/http notices only
// once the body was read.
func hang(w http.ResponseWriter, r *http.Request, next http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body) // the caller may be gone
	refserver.Hang(w, r, next)
}

var _ = Describe("the operator's key", func() {
	It("comes from the bootstrap of a fresh server, once a pod is ready", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Create(ctx)
		w.RollOut(ctx, false)
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False WaitingForServer"))
		Expect(w.Remote.Requests()).To(BeEmpty())
		w.RollOut(ctx, true)
		w.Ready(ctx)
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True Bootstrapped"))
		Expect(w.Remote.KeyID(w.Key(ctx))).NotTo(BeZero())

		secret := alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName)
		Expect(metav1.IsControlledBy(secret, w.Server(ctx))).To(BeTrue())
		Expect(secret.Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.ManagedBy))
		Expect(secret.Annotations).NotTo(HaveKey(v1alpha1.AnnotationBootstrapAttempt))
		status := w.Server(ctx).Status
		Expect(status.OperatorCredentialsSecretRef).To(Equal(&v1alpha1.LocalRef{Name: credentialsName}))
		Expect(status.ServiceName).To(Equal(name))
		Expect(status.Children).To(HaveLen(2))
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix("Normal Bootstrapped: ")))
		Expect(strings.Join(w.Events(ctx)(), "\n")).NotTo(ContainSubstring(w.Key(ctx)))
	})

	It("is found again by an operator that crashed before the call", func(ctx SpecContext) {
		w := newWorld(ctx)
		o := w.start(time.Hour)
		w.Remote.SetFault(on(bootstrapRoute, refserver.Answer(http.StatusBadGateway, "text/html", "<html>proxy</html>")))
		w.Create(ctx)
		w.RollOut(ctx, true)
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(HavePrefix("Unknown"))
		o.stop()
		secret := alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName)
		Expect(secret.Annotations).To(HaveKey(v1alpha1.AnnotationBootstrapAttempt))
		w.Remote.SetFault(nil)
		w.start(time.Hour)
		w.Ready(ctx)
		Eventually(func() int { return len(w.Remote.LiveKeys()) }).Should(Equal(1))
	})

	It("is said to be lost when the answer was, and an administrator's key is the way out", func(ctx SpecContext) {
		w := newWorld(ctx)
		// A key that the operator may choose is never lost.
		w.Remote.SetCapabilities(refserver.Capabilities{Me: true, ListKeys: true})
		w.start(time.Hour)
		w.Remote.SetFault(once(bootstrapRoute, refserver.LoseAnswer))
		w.Create(ctx)
		w.RollOut(ctx, true)
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False BootstrapKeyLost"))
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionStalled)()).To(Equal("True BootstrapKeyLost"))
		Expect(w.Message(ctx, v1alpha1.ConditionBootstrapped)).To(And(
			ContainSubstring("spec.bootstrap.adminKeySecretRef"), ContainSubstring(credentialsName)))

		_, key, err := w.Remote.AddUser("somebody", true)
		Expect(err).NotTo(HaveOccurred())
		w.Secret(ctx, "admin", map[string]string{"key": key})
		alone.Change(ctx, w.World, &v1alpha1.TerdutServer{}, name, withAdminKey)
		w.Ready(ctx)
		Expect(w.Key(ctx)).NotTo(Equal(key), "the operator makes a key of its own")
		Expect(w.Remote.KeyID(key)).NotTo(BeZero())
	})

	It("cannot be made where somebody else has bootstrapped, and nothing is written at rest", func(ctx SpecContext) {
		w := newWorld(ctx)
		_, _, err := w.Remote.AddUser("somebody", true)
		Expect(err).NotTo(HaveOccurred())
		o := w.start(200 * time.Millisecond)
		w.Create(ctx)
		w.RollOut(ctx, true)
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False AlreadyBootstrapped"))
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionStalled)()).To(Equal("True AlreadyBootstrapped"))
		Expect(w.Message(ctx, v1alpha1.ConditionBootstrapped)).To(ContainSubstring("spec.bootstrap.adminKeySecretRef"))
		writes := o.writes.Load()
		Consistently(o.writes.Load, time.Second).Should(Equal(writes))
		Expect(w.Requests("POST", "/api/bootstrap")).To(Equal(1))
	})

	It("is an administrator's where the spec names one, white space and all", func(ctx SpecContext) {
		w := newWorld(ctx)
		_, key, err := w.Remote.AddUser("somebody", true)
		Expect(err).NotTo(HaveOccurred())
		w.Secret(ctx, "admin", map[string]string{"key": " " + key + "\n"})
		w.start(time.Hour)
		w.Settle(ctx, withAdminKey)
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True AdminKeyProvided"))
		Expect(w.Remote.KeyID(w.Key(ctx))).NotTo(BeZero())
		Expect(w.Remote.KeyID(key)).NotTo(BeZero())
	})

	DescribeTable("an administrator's key that cannot be used is refused by name",
		func(ctx SpecContext, data map[string]string, condition string) {
			w := newWorld(ctx)
			_, key, err := w.Remote.AddUser("somebody", true)
			Expect(err).NotTo(HaveOccurred())
			if data != nil {
				w.Secret(ctx, "admin", data)
			}
			w.start(time.Hour)
			w.Create(ctx, withAdminKey)
			w.RollOut(ctx, true)
			Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal(condition))
			message := w.Message(ctx, v1alpha1.ConditionBootstrapped)
			Expect(message).To(And(ContainSubstring("spec.bootstrap.adminKeySecretRef"), ContainSubstring(`"admin"`)))
			for _, value := range data {
				if strings.TrimSpace(value) != "" {
					Expect(message).NotTo(ContainSubstring(strings.TrimSpace(value)))
				}
			}
			// What would help is watched.
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "admin"}}
			Expect(client.IgnoreNotFound(env.Admin.Delete(ctx, secret))).To(Succeed())
			w.Secret(ctx, "admin", map[string]string{"key": key})
			w.Ready(ctx)
		},
		Entry("no Secret", nil, "False SecretNotFound"),
		Entry("no such key", map[string]string{"other": "value-of-other"}, "False SecretKeyMissing"),
		Entry("white space", map[string]string{"key": " \n"}, "False SecretKeyMissing"),
		Entry("a key that cannot travel", map[string]string{"key": "planted\x01canary"}, "False KeyNotUsable"),
		Entry("a key that is not accepted", map[string]string{"key": strings.Repeat("ab", 32)}, "False KeyNotAccepted"),
	)

	DescribeTable("nothing changes while there is no clear answer",
		func(ctx SpecContext, fault refserver.Fault, condition string) {
			w := newWorld(ctx)
			w.Timeout = 300 * time.Millisecond
			o := w.start(time.Second) // no pause grows longer than that
			w.Remote.SetFault(func(*http.Request, string) refserver.Fault { return fault })
			w.Create(ctx)
			w.RollOut(ctx, true)
			Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal(condition))
			key := w.Key(ctx)
			// The first pass asks for another thing than those after it, and a
			// request is seen before the pass that made it has ended.
			Eventually(func() bool {
				version, writes, asked := w.Server(ctx).ResourceVersion, o.writes.Load(), len(w.Remote.Requests())
				Eventually(func() int { return len(w.Remote.Requests()) }).Should(BeNumerically(">", asked+1))
				return w.Server(ctx).ResourceVersion == version && o.writes.Load() == writes
			}).Should(BeTrue(), "the server is asked again and again, and nothing is written")
			Expect(w.Key(ctx)).To(Equal(key))
			Expect(w.Remote.LiveKeys()).To(BeEmpty())
			w.Remote.SetFault(nil)
			w.Ready(ctx)
			Eventually(func() int { return len(w.Remote.LiveKeys()) }).Should(Equal(1))
		},
		Entry("a proxy's page", refserver.Answer(http.StatusOK, "text/html", "<html>"), "Unknown UnexpectedAnswer"),
		Entry("a proxy's refusal", refserver.Answer(http.StatusForbidden, "text/html", "<html>"), "Unknown UnexpectedAnswer"),
		Entry("a failing server", refserver.JSONError(http.StatusInternalServerError, "boom"), "Unknown ServerUnreachable"),
		Entry("a missing route", refserver.Answer(http.StatusNotFound, "text/plain", "404 page not found\n"), "Unknown RouteMissing"),
		Entry("no answer", refserver.Fault(hang), "Unknown ServerUnreachable"),
		Entry("a closed connection", refserver.Fault(refserver.Drop), "Unknown ServerUnreachable"),
	)

	It("is not lost when the Secret cannot be written, and the process waits for it", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.Remote.SetCapabilities(refserver.Capabilities{Me: true, ListKeys: true})
		o := w.start(time.Hour)
		var answered atomic.Bool
		w.Remote.SetFault(func(_ *http.Request, route string) refserver.Fault {
			if route == bootstrapRoute {
				answered.Store(true)
			}
			return nil
		})
		o.broken.Store(ptr.To(func(req *http.Request) bool {
			return answered.Load() && req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/secrets/"+credentialsName)
		}))
		w.Create(ctx)
		w.RollOut(ctx, true)
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False ApplyFailed"))
		Expect(w.Remote.KeyID(w.Key(ctx))).To(BeZero())
		stopped := make(chan struct{})
		go func() { defer close(stopped); o.stop() }()
		Consistently(stopped, time.Second).ShouldNot(BeClosed())
		o.broken.Store(nil)
		Eventually(stopped).Should(BeClosed())
		Expect(w.Remote.KeyID(w.Key(ctx))).NotTo(BeZero())
		w.start(time.Hour)
		w.Ready(ctx)
		Expect(w.Requests("POST", "/api/bootstrap")).To(Equal(1))
	})

	It("is accepted by an older server without /api/me", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.Remote.SetCapabilities(refserver.Capabilities{})
		o := w.start(time.Hour)
		w.Settle(ctx)
		o.stop()
		w.start(time.Hour)
		Eventually(func() int { return w.Requests("GET", "/api/users") }).Should(BeNumerically(">", 0))
		w.Ready(ctx)
	})

	It("stays the operator's while the server is away: that is the server's condition", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(200 * time.Millisecond)
		w.Settle(ctx)
		w.Remote.SetFault(func(*http.Request, string) refserver.Fault { return refserver.Drop })
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal("Unknown ServerUnreachable"))
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True Bootstrapped"))
		w.Remote.SetFault(nil)
		w.Ready(ctx)
	})

	It("never goes into a stranger's Secret", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.Secret(ctx, credentialsName, map[string]string{"key": "somebody else's"})
		w.start(time.Hour)
		w.Create(ctx)
		w.RollOut(ctx, true)
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False NameConflict"))
		Expect(w.Key(ctx)).To(Equal("somebody else's"))
		Expect(w.Remote.Requests()).To(BeEmpty())
	})

	It("is put back when somebody deletes or changes the Secret", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.Settle(ctx)
		key := w.Key(ctx)
		alone.Change(ctx, w.World, &corev1.Secret{}, credentialsName, func(s *corev1.Secret) { s.Data["key"] = []byte("rubbish") })
		Eventually(func() string { return w.Key(ctx) }).Should(Equal(key))
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix(
			"Warning DriftCorrected: Secret " + credentialsName + ": data.key, set by kubectl-edit (Update)")))
		secret := alone.Get(ctx, w.World, &corev1.Secret{}, credentialsName)
		Expect(env.Admin.Delete(ctx, secret)).To(Succeed())
		Eventually(func() string {
			again := &corev1.Secret{}
			if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(secret), again); err != nil || again.UID == secret.UID {
				return ""
			}
			return string(again.Data[v1alpha1.CredentialsKey])
		}).Should(Equal(key))
		w.Ready(ctx)
		Expect(w.Requests("POST", "/api/bootstrap")).To(Equal(1))
	})

	It("is bootstrapped anew on another, empty database", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(200 * time.Millisecond)
		w.Settle(ctx)
		old := w.Key(ctx)
		w.replace(ctx)
		Eventually(func() string { return w.Key(ctx) }).ShouldNot(Equal(old))
		w.Ready(ctx)
		Expect(w.Remote.KeyID(w.Key(ctx))).NotTo(BeZero())
	})
})

// replace puts an empty server in the place of the one that was there.
func (w *world) replace(_ context.Context) {
	GinkgoHelper()
	fresh, err := refserver.New(refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	w.Remote.SetFault(func(*http.Request, string) refserver.Fault {
		return func(rw http.ResponseWriter, r *http.Request, _ http.Handler) { fresh.ServeHTTP(rw, r) }
	})
	w.Remote = fresh
}
