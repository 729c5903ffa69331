package chart_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/helm"
)

// TestValues gives the chart values that are right, and wrong ones, whose
// refusal names the key.
func TestValues(t *testing.T) {
	cases := []struct {
		name, values string
		// refused are parts of the refusal; none where the values are right.
		refused []string
	}{
		{"none", ``, nil},
		{"those of a chart around this one", `global: {anything: true}`, nil},
		{"null takes a default away", `podSecurityContext: {runAsUser: null, runAsGroup: null}`, nil},
		{"a server", `server: {enabled: true, namespace: oncall, database: {dsn: "postgres://t@db/t"}}`, nil},
		{"a server that is not enabled needs nothing", `server: {enabled: false}`, nil},
		{"a server that is watched", `{watchNamespaces: [oncall, payments], server: {enabled: true, namespace: oncall}}`, nil},
		{"the own namespace on purpose", `{allowOwnNamespace: true, watchNamespaces: [terdut-system],
			server: {enabled: true, namespace: terdut-system}}`, nil},
		{"an image by digest", `image: {digest: "sha256:` + digest + `"}`, nil},
		{"more flags", `extraArgs: [--resync=5m, --zap-log-level=debug]`, nil},

		{"an unknown key", `replica: 2`, []string{"replica"}},
		{"an unknown key of the image", `image: {name: x}`, []string{"/image", "name"}},
		{"an unknown key of the server", `server: {enable: true}`, []string{"/server", "enable"}},
		{"a key of the custom resource in place of the chart's", `server: {database: {passwordSecretRef: {name: x}}}`,
			[]string{"/server/database", "passwordSecretRef"}},
		{"a password for the database", `server: {database: {password: x}}`, []string{"/server/database", "password"}},
		{"a word for a number", `replicas: two`, []string{"/replicas"}},
		{"a word for a switch", `crds: {upgrade: "yes"}`, []string{"/crds/upgrade"}},
		{"half a digest", `image: {digest: "sha256:12"}`, []string{"/image/digest"}},
		{"a pull policy that does not exist", `image: {pullPolicy: Sometimes}`, []string{"/image/pullPolicy"}},
		{"no name of a namespace", `watchNamespaces: ["*"]`, []string{"/watchNamespaces/0"}},
		{"a namespace twice", `watchNamespaces: [a, a]`, []string{"/watchNamespaces"}},
		{"a name that is no TerdutServer's", `server: {name: 1st}`, []string{"/server/name"}},
		{"no duration", `server: {sweeper: {staleAfter: 6 hours}}`, []string{"/server/sweeper/staleAfter"}},
		{"no listener", `server: {networking: {listener: gateway}}`, []string{"/server/networking/listener"}},
		{"a flag without dashes", `extraArgs: [resync=5m]`, []string{"/extraArgs/0"}},
		{"a flag that has a value of its own", `extraArgs: [--watch-namespaces=a]`, []string{"/extraArgs/0"}},
		{"a variable without a name", `extraEnv: [{value: x}]`, []string{"/extraEnv/0", "name"}},
		{"a variable twice", `extraEnv: [{name: A, value: "1"}, {name: B, value: "1"}, {name: A, value: "2"}]`,
			[]string{`extraEnv names "A" twice`}},
		{"a server nowhere", `server: {enabled: true}`, []string{"server.enabled needs server.namespace"}},
		{"a server beside the operator", `server: {enabled: true, namespace: terdut-system}`,
			[]string{`server.namespace is "terdut-system"`, "allowOwnNamespace: true"}},
		{"the own namespace watched", `watchNamespaces: [oncall, terdut-system]`,
			[]string{`watchNamespaces names "terdut-system"`, "allowOwnNamespace: true"}},
		{"a server where nobody looks", `{watchNamespaces: [payments], server: {enabled: true, namespace: oncall}}`,
			[]string{`server.namespace is "oncall"`, "watchNamespaces"}},
	}
	eachHelm(t, func(t *testing.T, h *helm.Helm) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				g := NewWithT(t)
				_, err := render(t, h, c.values)
				if len(c.refused) == 0 {
					g.Expect(err).NotTo(HaveOccurred())
					return
				}
				for _, part := range c.refused {
					g.Expect(err).To(MatchError(ContainSubstring(part)))
				}
			})
		}
	})
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestLint(t *testing.T) {
	eachHelm(t, func(t *testing.T, h *helm.Helm) {
		g := NewWithT(t)
		output, err := h.Run(t.Context(), "lint", "--strict", chart)
		g.Expect(err).NotTo(HaveOccurred(), output)
	})
}
