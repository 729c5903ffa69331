package crds_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

type schema = apiextensionsv1.JSONSchemaProps

func TestStubsAgreeWithTheRealDefinitions(t *testing.T) {
	stubs, err := filepath.Glob("*.yaml")
	if err != nil || len(stubs) == 0 {
		t.Fatalf("find the stubs: %v, %d files", err, len(stubs))
	}
	root, err := figures.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stubs {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(root, "..", "shared", "crds", name)
			if _, missing := os.Stat(path); errors.Is(missing, os.ErrNotExist) {
				t.Skipf("the real definition is not at hand: put it at %s to compare the stub with it", path)
			}
			compare(t, read(t, name), read(t, path))
		})
	}
}

func read(t *testing.T, path string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err = yaml.UnmarshalStrict(content, definition); err != nil {
		t.Fatalf("decode %s: %v", path, err)
	}
	return definition
}

func compare(t *testing.T, stub, genuine *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	same(t, "name", stub.Name, genuine.Name)
	same(t, "group", stub.Spec.Group, genuine.Spec.Group)
	same(t, "scope", stub.Spec.Scope, genuine.Spec.Scope)
	names := genuine.Spec.Names
	// Categories only matter to people who list things.
	names.Categories = stub.Spec.Names.Categories
	same(t, "names", stub.Spec.Names, names)
	for _, version := range stub.Spec.Versions {
		at := slices.IndexFunc(genuine.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version.Name
		})
		if at < 0 {
			t.Errorf("version %s: the real definition has none", version.Name)
			continue
		}
		found := genuine.Spec.Versions[at]
		same(t, version.Name+" served", version.Served, found.Served)
		same(t, version.Name+" storage", version.Storage, found.Storage)
		same(t, version.Name+" subresources", version.Subresources, found.Subresources)
		within(t, version.Name, version.Schema.OpenAPIV3Schema, found.Schema.OpenAPIV3Schema)
	}
}

// within wants every field of the stub to be in the real schema, with the same type.
func within(t *testing.T, path string, stub, genuine *schema) {
	t.Helper()
	same(t, path+" type", stub.Type, genuine.Type)
	for _, name := range stub.Required {
		if !slices.Contains(genuine.Required, name) {
			t.Errorf("%s: the stub requires %s, the real definition does not", path, name)
		}
	}
	for name, property := range stub.Properties {
		realProperty, exists := genuine.Properties[name]
		if !exists {
			t.Errorf("%s.%s: the real definition has no such field", path, name)
			continue
		}
		within(t, path+"."+name, &property, &realProperty)
	}
	if stub.Items != nil {
		if genuine.Items == nil || genuine.Items.Schema == nil {
			t.Errorf("%s: the real definition has no items", path)
		} else {
			within(t, path+"[]", stub.Items.Schema, genuine.Items.Schema)
		}
	}
	if stub.AdditionalProperties != nil {
		if genuine.AdditionalProperties == nil || genuine.AdditionalProperties.Schema == nil {
			t.Errorf("%s: the real definition is no map", path)
		} else {
			within(t, path+"{}", stub.AdditionalProperties.Schema, genuine.AdditionalProperties.Schema)
		}
	}
}

func same(t *testing.T, what string, stub, genuine any) {
	t.Helper()
	if difference := cmp.Diff(genuine, stub); difference != "" {
		t.Errorf("%s differs (- real, + stub):\n%s", what, difference)
	}
}
