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
		w.create(ctx)
		w.run(ctx, false)
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False WaitingForServer"))
		Expect(w.remote.Requests()).To(BeEmpty())
		w.run(ctx, true)
		w.ready(ctx)
		Expect(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True Bootstrapped"))
		Expect(w.remote.KeyID(w.key(ctx))).NotTo(BeZero())

		secret := get(ctx, w, &corev1.Secret{}, credentialsName)
		Expect(metav1.IsControlledBy(secret, w.server(ctx))).To(BeTrue())
		Expect(secret.Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.ManagedBy))
		Expect(secret.Annotations).NotTo(HaveKey(v1alpha1.AnnotationBootstrapAttempt))
		status := w.server(ctx).Status
		Expect(status.OperatorCredentialsSecretRef).To(Equal(&v1alpha1.LocalRef{Name: credentialsName}))
		Expect(status.ServiceName).To(Equal(name))
		Expect(status.Children).To(HaveLen(2))
		Eventually(w.events(ctx)).Should(ContainElement(HavePrefix("Normal Bootstrapped: ")))
		Expect(strings.Join(w.events(ctx)(), "\n")).NotTo(ContainSubstring(w.key(ctx)))
	})

	It("is found again by an operator that crashed before the call", func(ctx SpecContext) {
		w := newWorld(ctx)
		o := w.start(time.Hour)
		w.remote.SetFault(on(bootstrapRoute, refserver.Answer(http.StatusBadGateway, "text/html", "<html>proxy</html>")))
		w.create(ctx)
		w.run(ctx, true)
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(HavePrefix("Unknown"))
		o.stop()
		secret := get(ctx, w, &corev1.Secret{}, credentialsName)
		Expect(secret.Annotations).To(HaveKey(v1alpha1.AnnotationBootstrapAttempt))
		w.remote.SetFault(nil)
		w.start(time.Hour)
		w.ready(ctx)
		Eventually(func() int { return len(w.remote.LiveKeys()) }).Should(Equal(1))
	})

	It("is said to be lost when the answer was, and an administrator's key is the way out", func(ctx SpecContext) {
		w := newWorld(ctx)
		// A key that the operator may choose is never lost.
		w.remote.SetCapabilities(refserver.Capabilities{Me: true, ListKeys: true})
		w.start(time.Hour)
		w.remote.SetFault(once(bootstrapRoute, refserver.LoseAnswer))
		w.create(ctx)
		w.run(ctx, true)
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False BootstrapKeyLost"))
		Expect(w.conditionOf(ctx, v1alpha1.ConditionStalled)()).To(Equal("True BootstrapKeyLost"))
		Expect(w.message(ctx, v1alpha1.ConditionBootstrapped)).To(And(
			ContainSubstring("spec.bootstrap.adminKeySecretRef"), ContainSubstring(credentialsName)))

		_, key, err := w.remote.AddUser("somebody", true)
		Expect(err).NotTo(HaveOccurred())
		w.secret(ctx, "admin", map[string]string{"key": key})
		change(ctx, w, &v1alpha1.TerdutServer{}, name, withAdminKey)
		w.ready(ctx)
		Expect(w.key(ctx)).NotTo(Equal(key), "the operator makes a key of its own")
		Expect(w.remote.KeyID(key)).NotTo(BeZero())
	})

	It("cannot be made where somebody else has bootstrapped, and nothing is written at rest", func(ctx SpecContext) {
		w := newWorld(ctx)
		_, _, err := w.remote.AddUser("somebody", true)
		Expect(err).NotTo(HaveOccurred())
		o := w.start(200 * time.Millisecond)
		w.create(ctx)
		w.run(ctx, true)
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False AlreadyBootstrapped"))
		Expect(w.conditionOf(ctx, v1alpha1.ConditionStalled)()).To(Equal("True AlreadyBootstrapped"))
		Expect(w.message(ctx, v1alpha1.ConditionBootstrapped)).To(ContainSubstring("spec.bootstrap.adminKeySecretRef"))
		writes := o.writes.Load()
		Consistently(o.writes.Load, time.Second).Should(Equal(writes))
		Expect(w.requests("POST", "/api/bootstrap")).To(Equal(1))
	})

	It("is an administrator's where the spec names one, white space and all", func(ctx SpecContext) {
		w := newWorld(ctx)
		_, key, err := w.remote.AddUser("somebody", true)
		Expect(err).NotTo(HaveOccurred())
		w.secret(ctx, "admin", map[string]string{"key": " " + key + "\n"})
		w.start(time.Hour)
		w.settle(ctx, withAdminKey)
		Expect(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True AdminKeyProvided"))
		Expect(w.remote.KeyID(w.key(ctx))).NotTo(BeZero())
		Expect(w.remote.KeyID(key)).NotTo(BeZero())
	})

	DescribeTable("an administrator's key that cannot be used is refused by name",
		func(ctx SpecContext, data map[string]string, condition string) {
			w := newWorld(ctx)
			_, key, err := w.remote.AddUser("somebody", true)
			Expect(err).NotTo(HaveOccurred())
			if data != nil {
				w.secret(ctx, "admin", data)
			}
			w.start(time.Hour)
			w.create(ctx, withAdminKey)
			w.run(ctx, true)
			Eventually(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal(condition))
			message := w.message(ctx, v1alpha1.ConditionBootstrapped)
			Expect(message).To(And(ContainSubstring("spec.bootstrap.adminKeySecretRef"), ContainSubstring(`"admin"`)))
			for _, value := range data {
				if strings.TrimSpace(value) != "" {
					Expect(message).NotTo(ContainSubstring(strings.TrimSpace(value)))
				}
			}
			// What would help is watched.
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "admin"}}
			Expect(client.IgnoreNotFound(admin.Delete(ctx, secret))).To(Succeed())
			w.secret(ctx, "admin", map[string]string{"key": key})
			w.ready(ctx)
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
			w.timeout = 300 * time.Millisecond
			o := w.start(time.Hour)
			w.remote.SetFault(func(*http.Request, string) refserver.Fault { return fault })
			w.create(ctx)
			w.run(ctx, true)
			Eventually(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal(condition))
			key := w.key(ctx)
			// The first pass asks for another thing than those after it, and a
			// request is seen before the pass that made it has ended.
			Eventually(func() bool {
				version, writes, asked := w.server(ctx).ResourceVersion, o.writes.Load(), len(w.remote.Requests())
				Eventually(func() int { return len(w.remote.Requests()) }).Should(BeNumerically(">", asked+1))
				return w.server(ctx).ResourceVersion == version && o.writes.Load() == writes
			}).Should(BeTrue(), "the server is asked again and again, and nothing is written")
			Expect(w.key(ctx)).To(Equal(key))
			Expect(w.remote.KeyID(key)).To(BeZero())
			w.remote.SetFault(nil)
			w.ready(ctx)
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
		w.remote.SetCapabilities(refserver.Capabilities{Me: true, ListKeys: true})
		o := w.start(time.Hour)
		var answered atomic.Bool
		w.remote.SetFault(func(_ *http.Request, route string) refserver.Fault {
			if route == bootstrapRoute {
				answered.Store(true)
			}
			return nil
		})
		o.broken.Store(ptr.To(func(req *http.Request) bool {
			return answered.Load() && req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/secrets/"+credentialsName)
		}))
		w.create(ctx)
		w.run(ctx, true)
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False ApplyFailed"))
		Expect(w.remote.KeyID(w.key(ctx))).To(BeZero())
		stopped := make(chan struct{})
		go func() { defer close(stopped); o.stop() }()
		Consistently(stopped, time.Second).ShouldNot(BeClosed())
		o.broken.Store(nil)
		Eventually(stopped).Should(BeClosed())
		Expect(w.remote.KeyID(w.key(ctx))).NotTo(BeZero())
		w.start(time.Hour)
		w.ready(ctx)
		Expect(w.requests("POST", "/api/bootstrap")).To(Equal(1))
	})

	It("is accepted by an older server without /api/me", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.remote.SetCapabilities(refserver.Capabilities{})
		o := w.start(time.Hour)
		w.settle(ctx)
		o.stop()
		w.start(time.Hour)
		Eventually(func() int { return w.requests("GET", "/api/users") }).Should(BeNumerically(">", 0))
		w.ready(ctx)
	})

	It("stays the operator's while the server is away: that is the server's condition", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(200 * time.Millisecond)
		w.settle(ctx)
		w.remote.SetFault(func(*http.Request, string) refserver.Fault { return refserver.Drop })
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal("Unknown ServerUnreachable"))
		Expect(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True Bootstrapped"))
		w.remote.SetFault(nil)
		w.ready(ctx)
	})

	It("never goes into a stranger's Secret", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.secret(ctx, credentialsName, map[string]string{"key": "somebody else's"})
		w.start(time.Hour)
		w.create(ctx)
		w.run(ctx, true)
		Eventually(w.conditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False NameConflict"))
		Expect(w.key(ctx)).To(Equal("somebody else's"))
		Expect(w.remote.Requests()).To(BeEmpty())
	})

	It("is put back when somebody deletes or changes the Secret", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(time.Hour)
		w.settle(ctx)
		key := w.key(ctx)
		change(ctx, w, &corev1.Secret{}, credentialsName, func(s *corev1.Secret) { s.Data["key"] = []byte("rubbish") })
		Eventually(func() string { return w.key(ctx) }).Should(Equal(key))
		Eventually(w.events(ctx)).Should(ContainElement(HavePrefix(
			"Warning DriftCorrected: Secret " + credentialsName + ": data.key, set by kubectl-edit (Update)")))
		secret := get(ctx, w, &corev1.Secret{}, credentialsName)
		Expect(admin.Delete(ctx, secret)).To(Succeed())
		Eventually(func() string {
			again := &corev1.Secret{}
			if err := admin.Get(ctx, client.ObjectKeyFromObject(secret), again); err != nil || again.UID == secret.UID {
				return ""
			}
			return string(again.Data[v1alpha1.CredentialsKey])
		}).Should(Equal(key))
		w.ready(ctx)
		Expect(w.requests("POST", "/api/bootstrap")).To(Equal(1))
	})

	It("is bootstrapped anew on another, empty database", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.start(200 * time.Millisecond)
		w.settle(ctx)
		old := w.key(ctx)
		w.replace(ctx)
		Eventually(func() string { return w.key(ctx) }).ShouldNot(Equal(old))
		w.ready(ctx)
		Expect(w.remote.KeyID(w.key(ctx))).NotTo(BeZero())
	})
})

// replace puts an empty server in the place of the one that was there.
func (w *world) replace(_ context.Context) {
	GinkgoHelper()
	fresh, err := refserver.New(refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	w.remote.SetFault(func(*http.Request, string) refserver.Fault {
		return func(rw http.ResponseWriter, r *http.Request, _ http.Handler) { fresh.ServeHTTP(rw, r) }
	})
	w.remote = fresh
}
