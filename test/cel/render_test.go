package cel_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// render builds a directory of config/ the way `kubectl apply -k` does.
func render(ctx SpecContext, directory string) []*unstructured.Unstructured {
	GinkgoHelper()
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, plane.Assets.Kubectl, "kustomize", filepath.Join(configDir, directory))
	command.Stderr = &stderr
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), stderr.String())
	Expect(stderr.String()).To(BeEmpty(), "kustomize warns")
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(output)))
	for {
		document, readErr := documents.Read()
		if errors.Is(readErr, io.EOF) {
			return objects
		}
		Expect(readErr).NotTo(HaveOccurred())
		objects = append(objects, decode(document))
	}
}

// kubectlApply runs the command that the documentation of the directory gives.
func kubectlApply(ctx SpecContext, directory string) {
	GinkgoHelper()
	output, err := plane.Kubectl(ctx, "apply", "--server-side", "-k", filepath.Join(configDir, directory)).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)
	Expect(string(output)).NotTo(ContainSubstring("Warning"))
}

// applyAll applies the objects in their order, three times. The second time stores the default of a status, which the API
// server drops from a creation; from then on an apply must change nothing, or a GitOps tool would write for ever.
func applyAll(ctx SpecContext, objects []*unstructured.Unstructured) {
	GinkgoHelper()
	const rounds = 3
	versions := map[types.UID]string{}
	for round := range rounds {
		for _, object := range objects {
			applied := object.DeepCopy()
			Expect(serverSideApply(ctx, applied)).To(Succeed(), "%s %s", object.GetKind(), object.GetName())
			if round == rounds-1 {
				Expect(applied.GetResourceVersion()).To(Equal(versions[applied.GetUID()]),
					"applying %s %s again changes it", object.GetKind(), object.GetName())
			}
			versions[applied.GetUID()] = applied.GetResourceVersion()
		}
	}
}

// exists is the one object of that kind and name.
func exists(objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	found := slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != kind || o.GetName() != name
	})
	Expect(found).To(HaveLen(1), "%s %s", kind, name)
	return found[0]
}

func convert(from *unstructured.Unstructured, to any) {
	GinkgoHelper()
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(from.Object, to, true)).To(Succeed())
}

func deploymentOf(objects []*unstructured.Unstructured) *appsv1.Deployment {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	convert(exists(objects, "Deployment", "terdut-operator"), deployment)
	return deployment
}
