package install_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serviceMonitors are the definitions of the Prometheus operator, which only
// some machines have.
const serviceMonitors = root + "/../shared/crds/monitoring.coreos.com_servicemonitors.yaml"

var _ = Describe("what the chart renders", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		DeferCleanup(cleanUp)
		for _, path := range []string{chart + "/crds", serviceMonitors} {
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			kubectl(ctx, "apply", "--server-side", "-f", path)
		}
		kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
		for _, name := range []string{"terdut-system", "oncall", "payments"} {
			Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				"pod-security.kubernetes.io/warn": "restricted",
			}}})).To(Succeed())
		}
	})

	// The golden files are what both helms render (package chart_test).
	paths, err := filepath.Glob("../testdata/*.golden.yaml")
	if err != nil || len(paths) == 0 {
		panic("no golden files in ../testdata")
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".golden.yaml")
		It("is taken by the API server, to the last field and as restricted: "+name, func(ctx SpecContext) {
			cmd := plane.Kubectl(ctx, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
			cmd.Stdin = strings.NewReader(known(path))
			said, err := cmd.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), "%s", said)
			Expect(string(said)).NotTo(ContainSubstring("Warning"))
		})
	}
})

// known is a golden file without ServiceMonitors where nobody knows these.
func known(path string) string {
	GinkgoHelper()
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	documents := strings.Split(string(content), "---\n")
	if _, err := os.Stat(serviceMonitors); err != nil {
		documents = slices.DeleteFunc(documents, func(d string) bool { return strings.Contains(d, "\nkind: ServiceMonitor\n") })
	}
	return strings.Join(documents, "---\n")
}

// kubectl runs a command as the administrator and returns all that it says.
func kubectl(ctx SpecContext, args ...string) string {
	GinkgoHelper()
	output, err := plane.Kubectl(ctx, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)
	return string(output)
}
