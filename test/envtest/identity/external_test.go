package identity_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/alone"
)

// newExternal is a world whose server is reached as in earnest, over TLS, with
// an administrator whose key is in the Secret "admin", and with the certificate
// authority in the Secret "ca".
func newExternal(ctx context.Context) (w *world, key string) {
	GinkgoHelper()
	w = newWorld(ctx)
	w.sessions = true
	w.HTTP.Close()
	w.HTTP = httptest.NewTLSServer(w.Remote)
	DeferCleanup(w.HTTP.Close)
	_, key, err := w.Remote.AddUser("somebody", true)
	Expect(err).NotTo(HaveOccurred())
	w.Secret(ctx, "admin", map[string]string{"key": key})
	w.Secret(ctx, "ca", map[string]string{"ca.crt": authority(w.HTTP)})
	return w, key
}

// authority is the certificate of a test server.
func authority(of *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: of.Certificate().Raw}))
}

// at makes a TerdutServer external.
func at(url string, change ...func(*v1alpha1.ServerExternal)) func(*v1alpha1.TerdutServer) {
	return func(s *v1alpha1.TerdutServer) {
		s.Spec.Database = v1alpha1.ServerDatabase{}
		s.Spec.External = &v1alpha1.ServerExternal{
			URL: url, CASecretRef: &v1alpha1.SecretKeyRef{Name: "ca"}, AdminKeySecretRef: v1alpha1.SecretKeyRef{Name: "admin"},
		}
		for _, f := range change {
			f(s.Spec.External)
		}
	}
}

// otherAuthority is a certificate authority that has signed nothing.
const otherAuthority = `-----BEGIN CERTIFICATE-----
MIIBhzCCAS2gAwIBAgIUKdBI4y6aAPIqqBhKJvN/3p9W93MwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNc29tZWJvZHkgZWxzZTAgFw0yNjExMzAwNzQ3MjlaGA8yMTI2
MTEwNjA3NDcyOVowGDEWMBQGA1UEAwwNc29tZWJvZHkgZWxzZTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABKH6H/rvfS1y+6qhFlkOBpXNE6YcIwwR8CN/BwiRq9KT
oOd/4+okTUncZS2GO/TOQlLVEsvrI8Fc9pFoYyYw906jUzBRMB0GA1UdDgQWBBSt
y9hCVKy455joU372YZbk+pkdPTAfBgNVHSMEGDAWgBSty9hCVKy455joU372YZbk
+pkdPTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIENR83+P7Q+Z
rNP41oKn4b6RaCqk6aUY0JDD9RZCUf37AiEAlG1A3H3c2UXP2CSa3nf/2Ic4AjZT
3n7G1Krs7ezb54s=
-----END CERTIFICATE-----
`

var _ = Describe("an external server", func() {
	It("is reached with a key of the operator's own, and nothing is made for it", func(ctx SpecContext) {
		w, key := newExternal(ctx)
		w.start(time.Hour)
		w.Create(ctx, at(w.HTTP.URL))
		w.quiet(ctx)
		w.single(ctx, 1)
		Expect(w.Key(ctx)).NotTo(Equal(key))
		Expect(w.Remote.KeyID(key)).NotTo(BeZero())
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionAvailable)()).To(Equal("True Available"))
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionDatabaseReady)()).To(Equal("True External"))
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(Equal("True AdminKeyProvided"))
		Expect(w.Server(ctx).Status.ServiceName).To(BeEmpty())
		Expect(w.Gone(ctx, &appsv1.Deployment{}, name)()).To(BeTrue())
		Expect(w.Gone(ctx, &corev1.Service{}, name)()).To(BeTrue())
		Expect(w.Requests("POST", "/api/bootstrap")).To(BeZero())
	})

	It("has nothing left of an installation that it takes the place of", func(ctx SpecContext) {
		w, _ := newExternal(ctx)
		w.start(time.Hour)
		w.Create(ctx)
		for _, child := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
			Eventually(w.Gone(ctx, child, name)).Should(BeFalse())
		}
		alone.Change(ctx, w.World, &v1alpha1.TerdutServer{}, name, at(w.HTTP.URL))
		for _, child := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
			Eventually(w.Gone(ctx, child, name)).Should(BeTrue())
		}
		w.Ready(ctx)
	})

	It("is never bootstrapped", func(ctx SpecContext) {
		w, _ := newExternal(ctx)
		w.replace()
		w.start(time.Hour)
		w.Create(ctx, at(w.HTTP.URL))
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False KeyNotAccepted"))
		Expect(w.Message(ctx, v1alpha1.ConditionBootstrapped)).To(ContainSubstring("spec.external.adminKeySecretRef"))
		Expect(w.Requests("POST", "/api/bootstrap")).To(BeZero())
		alone.Change(ctx, w.World, &v1alpha1.TerdutServer{}, name, func(s *v1alpha1.TerdutServer) { s.Spec.External.AdminKeySecretRef.Name = "" })
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)).Should(Equal("False AlreadyBootstrapped"))
		Expect(w.Message(ctx, v1alpha1.ConditionBootstrapped)).To(ContainSubstring("spec.external.adminKeySecretRef"))
		Expect(w.Requests("POST", "/api/bootstrap")).To(BeZero())
	})

	DescribeTable("that cannot be reached says why", func(ctx SpecContext, condition, hint string, make func(w *world) func(*v1alpha1.TerdutServer)) {
		w, _ := newExternal(ctx)
		w.start(time.Hour)
		w.Create(ctx, make(w))
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal(condition))
		Expect(w.Message(ctx, v1alpha1.ConditionAvailable)).To(ContainSubstring(hint))
		Expect(w.Remote.Requests()).To(BeEmpty())
		alone.Change(ctx, w.World, &v1alpha1.TerdutServer{}, name, at(w.HTTP.URL))
		w.quiet(ctx)
	},
		Entry("an unknown certificate", "False CertificateRejected", "caSecretRef", func(w *world) func(*v1alpha1.TerdutServer) {
			return at(w.HTTP.URL, func(e *v1alpha1.ServerExternal) { e.CASecretRef = nil })
		}),
		Entry("no Secret with the authority", "False SecretNotFound", "caSecretRef", func(w *world) func(*v1alpha1.TerdutServer) {
			return at(w.HTTP.URL, func(e *v1alpha1.ServerExternal) { e.CASecretRef.Name = "other" })
		}),
		Entry("a Secret without a certificate", "False SecretKeyMissing", "caSecretRef", func(w *world) func(*v1alpha1.TerdutServer) {
			return at(w.HTTP.URL, func(e *v1alpha1.ServerExternal) { e.CASecretRef.Name = "admin" })
		}),
		Entry("a link-local address", "False AddressRefused", "link-local", func(*world) func(*v1alpha1.TerdutServer) {
			return at("https://169.254.169.254")
		}),
		Entry("a redirect to another host", "False RedirectRefused", "redirects", func(w *world) func(*v1alpha1.TerdutServer) {
			elsewhere := httptest.NewTLSServer(http.RedirectHandler("https://elsewhere.example.com/healthz", http.StatusFound))
			DeferCleanup(elsewhere.Close)
			return at(elsewhere.URL)
		}),
		Entry("nobody at the address", "Unknown ServerUnreachable", "connection refused", func(*world) func(*v1alpha1.TerdutServer) {
			closed := httptest.NewTLSServer(http.NotFoundHandler())
			closed.Close()
			return at(closed.URL)
		}),
	)

	It("is trusted anew when its certificate authority changes", func(ctx SpecContext) {
		w, _ := newExternal(ctx)
		alone.Change(ctx, w.World, &corev1.Secret{}, "ca", func(s *corev1.Secret) { s.Data["ca.crt"] = []byte(otherAuthority) })
		w.start(time.Hour)
		w.Create(ctx, at(w.HTTP.URL))
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal("False CertificateRejected"))
		alone.Change(ctx, w.World, &corev1.Secret{}, "ca", func(s *corev1.Secret) { s.Data["ca.crt"] = []byte(authority(w.HTTP)) })
		w.quiet(ctx)
	})

	It("that goes away says so, and comes back", func(ctx SpecContext) {
		w, _ := newExternal(ctx)
		w.start(300 * time.Millisecond)
		w.Create(ctx, at(w.HTTP.URL))
		w.quiet(ctx)
		w.Remote.SetFault(func(*http.Request, string) refserver.Fault { return refserver.Drop })
		Eventually(w.ConditionOf(ctx, v1alpha1.ConditionAvailable)).Should(Equal("Unknown ServerUnreachable"))
		Expect(w.ConditionOf(ctx, v1alpha1.ConditionBootstrapped)()).To(HavePrefix("True"))
		w.Remote.SetFault(nil)
		w.Ready(ctx)
	})
})
