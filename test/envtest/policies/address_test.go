package policies_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// published are the Secrets of tenants that show the address of their server.
func published(ctx context.Context, i *steps.Install) map[string]*corev1.Secret {
	GinkgoHelper()
	secrets := &corev1.SecretList{}
	Expect(env.Admin.List(ctx, secrets, client.InNamespace(i.Tenant))).To(Succeed())
	out := map[string]*corev1.Secret{}
	for n := range secrets.Items {
		if _, shows := secrets.Items[n].Data[v1alpha1.CredentialsURLKey]; shows {
			out[secrets.Items[n].Name] = &secrets.Items[n]
		}
	}
	return out
}

// written counts the writes of the operator to each of those Secrets.
func written(secrets map[string]*corev1.Secret) map[string]int {
	out := map[string]int{}
	for name, s := range secrets {
		for _, write := range env.Requests.Writes() {
			if strings.HasSuffix(write, "/namespaces/"+s.Namespace+"/secrets/"+name) {
				out[name]++
			}
		}
	}
	return out
}

var _ = Describe("the address of a server", func() {
	// Nothing but being woken can bring the operator: the resync is an hour away.
	DescribeTable("is followed by everything that shows it, in one write each", func(
		ctx SpecContext, mode v1alpha1.CredentialsMode, move func(*v1alpha1.TerdutServer), public, internal string, lists int,
	) {
		i := env.ReadyInstall(ctx, refserver.Options{}, func(s *v1alpha1.TerdutServer) {
			s.Spec.Credentials = &v1alpha1.ServerCredentials{Mode: mode}
		})
		all := i.Full(ctx)
		second := sample.Source(all.Team, "second")
		env.Create(ctx, second)
		env.EventuallyReady(ctx, second)
		Eventually(func() int { return len(published(ctx, i)) }).Should(Equal(3), "two webhooks and a key")
		before := published(ctx, i)
		i.Peer.ResetRequests()
		env.Requests.Reset()

		steps.Change(ctx, env, i.Server, move)
		at := func(address string) string {
			return strings.ReplaceAll(address, "$(server)", fmt.Sprintf("%s.%s.svc", i.Server.Name, i.Platform))
		}
		// What comes after the address, and the key, stay as they were.
		was := fmt.Sprintf("http://%s.%s.svc:8080", i.Server.Name, i.Platform)
		want := map[string]map[string][]byte{}
		for name, s := range before {
			path := strings.TrimPrefix(string(s.Data[v1alpha1.CredentialsURLKey]), was)
			want[name] = map[string][]byte{
				v1alpha1.CredentialsKey:            s.Data[v1alpha1.CredentialsKey],
				v1alpha1.CredentialsURLKey:         []byte(at(public) + path),
				v1alpha1.CredentialsInternalURLKey: []byte(at(internal) + path),
			}
		}
		Eventually(func() map[string]map[string][]byte {
			now := map[string]map[string][]byte{}
			for name, s := range published(ctx, i) {
				now[name] = s.Data
			}
			return now
		}).Should(Equal(want))
		env.EventuallyReady(ctx, append(all.Objects(), i.Server, second)...)

		Expect(written(before)).To(HaveEach(1))
		Expect(i.Peer.Writes()).To(BeZero(), "no key is made anew")
		Expect(strings.Count(strings.Join(i.Peer.Calls("GET"), "\n"), "/integrations")).To(Equal(lists), "the lists are shared")
		Expect(env.Alert(string(want[second.WebhookSecret()][v1alpha1.WebhookInternalURLKey]))).To(BeNumerically("<", 300))
	},
		Entry("its hostname", v1alpha1.CredentialsScoped, func(s *v1alpha1.TerdutServer) {
			s.Spec.Networking.Hostname = "terdut.example.com"
		}, "https://terdut.example.com", "http://$(server):8080", 0),
		Entry("its port", v1alpha1.CredentialsMirrored, func(s *v1alpha1.TerdutServer) {
			s.Spec.Networking.ServicePort = 9090
		}, "http://$(server):9090", "http://$(server):9090", 1),
		Entry("where it is, when it becomes external", v1alpha1.CredentialsScoped, func(s *v1alpha1.TerdutServer) {
			s.Spec.Database, s.Spec.External = v1alpha1.ServerDatabase{}, &v1alpha1.ServerExternal{
				URL:               fmt.Sprintf("http://%s.%s.svc:9191", s.Name, s.Namespace),
				AdminKeySecretRef: v1alpha1.SecretKeyRef{Name: v1alpha1.CredentialsSecretName(s.Name), Key: v1alpha1.CredentialsKey},
			}
		}, "http://$(server):9191", "http://$(server):9191", 1),
	)
})
