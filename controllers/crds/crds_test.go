package crds

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"git.ryuvia.com/niklas/terdut-operator/config/crd"
)

// What the real API server does with all of it is tested in test/chart/install;
// here are the moments that cannot be brought about there.

const name = "terdutteams.terdut.ryuvia.com"

// cluster has the definition in some version, and notes the versions that are
// applied.
type cluster struct {
	client.Client
	applied []string
	// meanwhile happens before an apply, and may refuse it.
	meanwhile func(attempt int) error
	gets      int
}

func newCluster(t *testing.T, version string) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	there := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{crd.VersionAnnotation: version},
	}}
	c := &cluster{meanwhile: func(int) error { return nil }}
	c.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(there).Build(), interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, _ runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			c.applied = append(c.applied, version)
			return c.meanwhile(len(c.applied))
		},
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := inner.Get(ctx, key, object, options...); err != nil {
				return err
			}
			c.gets++
			status := map[string]any{"conditions": nil}
			if c.gets > 2 {
				status["conditions"] = []any{map[string]any{"type": "Established", "status": "True"}}
			}
			object.(*unstructured.Unstructured).Object["status"] = status
			return nil
		},
	})
	return c
}

func definition(version string) *unstructured.Unstructured {
	d := &unstructured.Unstructured{}
	d.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	d.SetName(name)
	d.SetAnnotations(map[string]string{crd.VersionAnnotation: version})
	return d
}

func TestNeverToAnOlderVersion(t *testing.T) {
	for there, applied := range map[string]bool{
		"": true, "nonsense": true, "v0.9.0": true, "v1.0.0-rc.1": true, "v1.0.0": true,
		"v1.0.1": false, "v1.1.0-rc.1": false, "v10.0.0": false,
	} {
		t.Run(there, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t, there)
			g.Expect(Upgrade(t.Context(), c, []*unstructured.Unstructured{definition("v1.0.0")})).To(Succeed())
			g.Expect(len(c.applied) > 0).To(Equal(applied))
		})
	}
}

func TestLooksAgainWhenSomebodyWasFaster(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "v0.9.0")
	c.meanwhile = func(attempt int) error {
		if attempt > 1 {
			return nil
		}
		there := definition("")
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(there), there)).To(Succeed())
		there.SetAnnotations(map[string]string{crd.VersionAnnotation: "v1.1.0"})
		g.Expect(c.Update(t.Context(), there)).To(Succeed())
		return apierrors.NewConflict(schema.GroupResource{Resource: "customresourcedefinitions"}, name, nil)
	}
	g.Expect(Upgrade(t.Context(), c, []*unstructured.Unstructured{definition("v1.0.0")})).To(Succeed())
	g.Expect(c.applied).To(HaveLen(1), "the newer one of the other is left")
}

func TestLeavesOneThatIsBeingDeleted(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "v0.9.0")
	there := definition("")
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(there), there)).To(Succeed())
	there.SetFinalizers([]string{"customresourcecleanup.apiextensions.k8s.io"})
	g.Expect(c.Update(t.Context(), there)).To(Succeed())
	g.Expect(c.Delete(t.Context(), there)).To(Succeed())
	g.Expect(Upgrade(t.Context(), c, []*unstructured.Unstructured{definition("v1.0.0")})).To(Succeed())
	g.Expect(c.applied).To(BeEmpty())
}

func TestSaysWhatToDo(t *testing.T) {
	g := NewWithT(t)
	c := newCluster(t, "v0.9.0")
	c.meanwhile = func(int) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, name, nil)
	}
	g.Expect(Upgrade(t.Context(), c, []*unstructured.Unstructured{definition("v1.0.0")})).
		To(MatchError(And(ContainSubstring(name), ContainSubstring("without --crds-upgrade"), ContainSubstring("forbidden"))))
}
