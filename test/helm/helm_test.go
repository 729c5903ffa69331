package helm_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/helm"
)

func TestEachMajorIsItself(t *testing.T) {
	for _, version := range helm.Versions() {
		t.Run(version, func(t *testing.T) {
			g := NewWithT(t)
			h, err := helm.New(t.Context(), version, "", t.TempDir())
			g.Expect(err).NotTo(HaveOccurred())
			output, err := h.Run(t.Context(), "version", "--template={{.Version}}")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(output).To(HavePrefix(version + "."))
		})
	}
}

func TestOtherMajorsAreRefused(t *testing.T) {
	g := NewWithT(t)
	_, err := helm.Path(t.Context(), "v2")
	g.Expect(err).To(MatchError(And(ContainSubstring(`"v2"`), ContainSubstring(strings.Join(helm.Versions(), ", ")))))
}
