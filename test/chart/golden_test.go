package chart_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/helm"
)

var update = flag.Bool("update", false, "write the golden files")

// valueSets are the files of testdata with values, by name.
func valueSets(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sets := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, ".golden.yaml") {
			continue
		}
		values, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sets[strings.TrimSuffix(filepath.Base(path), ".yaml")] = string(values)
	}
	return sets
}

// TestRendered compares what both helms make of each set of values with one
// golden file, and decodes it: an unknown field, or one that comes twice, would
// be dropped or refused only in a cluster.
func TestRendered(t *testing.T) {
	strict := serializer.NewCodecFactory(scheme(), serializer.EnableStrict).UniversalDeserializer()
	eachHelm(t, func(t *testing.T, h *helm.Helm) {
		for name, values := range valueSets(t) {
			t.Run(name, func(t *testing.T) {
				g := NewWithT(t)
				got, err := render(t, h, values)
				g.Expect(err).NotTo(HaveOccurred())
				got = trimmed(got)
				for _, document := range documents(got) {
					if strings.TrimSpace(document) == "" {
						continue
					}
					_, _, err = strict.Decode([]byte(document), nil, nil)
					g.Expect(err).NotTo(HaveOccurred(), document)
				}
				golden := filepath.Join("testdata", name+".golden.yaml")
				if *update {
					g.Expect(os.WriteFile(golden, []byte(got), 0o644)).To(Succeed())
				}
				want, err := os.ReadFile(golden)
				g.Expect(err).NotTo(HaveOccurred())
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("rendered otherwise than %s says (-want +got); run the test with -update if that is meant:\n%s", golden, diff)
				}
			})
		}
	})
}

// TestRestricted renders the chart as it comes: its pod fulfils the Pod
// Security Standard restricted and writes nowhere.
func TestRestricted(t *testing.T) {
	eachHelm(t, func(t *testing.T, h *helm.Helm) {
		g := NewWithT(t)
		rendered, err := render(t, h, "")
		g.Expect(err).NotTo(HaveOccurred())
		found := slices.IndexFunc(objects(t, rendered), func(o object) bool { return o.GetKind() == "Deployment" })
		g.Expect(found).To(BeNumerically(">=", 0))
		deployment := &appsv1.Deployment{}
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(objects(t, rendered)[found].Object, deployment)).To(Succeed())
		pod := deployment.Spec.Template.Spec
		container := pod.Containers[0]
		g.Expect(pod.SecurityContext.RunAsNonRoot).To(Equal(ptr.To(true)))
		g.Expect(pod.SecurityContext.SeccompProfile.Type).To(BeEquivalentTo("RuntimeDefault"))
		g.Expect(container.SecurityContext.AllowPrivilegeEscalation).To(Equal(ptr.To(false)))
		g.Expect(container.SecurityContext.ReadOnlyRootFilesystem).To(Equal(ptr.To(true)))
		g.Expect(container.SecurityContext.Capabilities.Drop).To(ConsistOf(BeEquivalentTo("ALL")))
		g.Expect(container.Args).To(ContainElement("--leader-elect"))
	})
}

// trimmed is without lines of nothing but spaces, in which the helms differ.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
	return strings.Join(lines, "\n") + "\n"
}

// scheme knows everything that the chart renders.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	s.AddKnownTypes(schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}, &ServiceMonitor{})
	return s
}

// ServiceMonitor is as much of one as the chart writes.
type ServiceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Interval string `json:"interval,omitempty"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// DeepCopyObject implements runtime.Object; nothing copies one.
func (m *ServiceMonitor) DeepCopyObject() runtime.Object { panic("not needed") }
