package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/test/helm"
)

const (
	release          = "terdut-operator"
	releaseNamespace = "terdut-system"
)

// chart is the directory of the chart.
const chart = "../../charts/terdut-operator"

// object is one of any kind.
type object = *unstructured.Unstructured

// eachHelm runs a test with every helm.
func eachHelm(t *testing.T, test func(t *testing.T, h *helm.Helm)) {
	t.Helper()
	for _, version := range helm.Versions() {
		t.Run(version, func(t *testing.T) {
			h, err := helm.New(t.Context(), version, "", t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			test(t, h)
		})
	}
}

// render is what helm template makes of the values, and what helm says against
// them.
func render(t *testing.T, h *helm.Helm, values string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return h.Run(t.Context(), "template", release, chart, "--namespace="+releaseNamespace, "--values="+file)
}

// objects are the objects of a rendered chart.
func objects(t *testing.T, rendered string) []object {
	t.Helper()
	var all []object
	for _, document := range documents(rendered) {
		one := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &one.Object); err != nil {
			t.Fatalf("read a rendered object: %v\n%s", err, document)
		}
		if len(one.Object) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// documents are the YAML documents of a rendered chart.
func documents(rendered string) []string {
	return strings.Split("\n"+strings.TrimPrefix(rendered, "---\n"), "\n---\n")
}
