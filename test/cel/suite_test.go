package cel_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

const (
	// suiteName is the suite's name among the figures.
	suiteName = "cel"
	// caseLabel marks the specs that the figure cel-cases counts.
	caseLabel = "case"
	// namespace holds the objects of the cases.
	namespace = "cel"

	configDir = "../../config"
)

var crdDir = filepath.Join(configDir, "crd")

// plane is the control plane of the suite, cluster its administrator's client. The client refuses unknown and duplicate
// fields, so that a typing error in a manifest is no passing case.
var (
	plane   *controlplane.ControlPlane
	cluster client.Client
)

func TestCEL(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "validation by the API server", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suiteName)).To(Succeed())
	var err error
	plane, err = controlplane.Start(ctx, controlplane.Options{
		CRDPaths:    []string{crdDir},
		Controllers: []string{},
		Log:         os.Stderr,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	lenient, err := client.New(plane.Config, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	cluster = client.WithFieldValidation(lenient, metav1.FieldValidationStrict)
	Expect(cluster.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
})

var _ = ReportAfterSuite("figures", func(report Report) {
	passed, total := 0, 0
	for _, spec := range report.SpecReports {
		if !slices.Contains(spec.Labels(), caseLabel) {
			continue
		}
		total++
		if spec.State == types.SpecStatePassed {
			passed++
		}
	}
	Expect(figures.Count(suiteName, "cel-cases", passed, total)).To(Succeed())
})
