package cel_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// node is one place in the schema of a kind.
type node struct {
	kind string
	// path leads to it; [] stands for any item of a list, {} for any value of a map: spec.levels[].targets[].kind.
	path string
	// required is true when the parent must have it.
	required bool
	schema   *apiextensionsv1.JSONSchemaProps
}

// in is the path of the node's first instance in an object.
func (n node) in() string { return strings.ReplaceAll(n.path, "[]", "[0]") }

// definitions are the generated CustomResourceDefinitions by kind.
func definitions() map[string]*apiextensionsv1.CustomResourceDefinition {
	files, err := filepath.Glob(filepath.Join(crdDir, "terdut.ryuvia.com_*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		content, readErr := os.ReadFile(file)
		Expect(readErr).NotTo(HaveOccurred())
		definition := &apiextensionsv1.CustomResourceDefinition{}
		Expect(yaml.UnmarshalStrict(content, definition)).To(Succeed(), file)
		Expect(definition.Spec.Versions).To(HaveLen(1), file)
		found[definition.Spec.Names.Kind] = definition
	}
	Expect(slices.Collect(maps.Keys(found))).To(ConsistOf(kinds))
	return found
}

// schemaNodes lists every place in the schemas of all kinds, in a fixed order.
var schemaNodes = sync.OnceValue(func() []node {
	var nodes []node
	for kind, definition := range byKind(definitions()) {
		root := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		walk(node{kind: kind, schema: root}, func(n node) { nodes = append(nodes, n) })
	}
	return nodes
})

func byKind[V any](values map[string]V) func(func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, kind := range kinds {
			if !yield(kind, values[kind]) {
				return
			}
		}
	}
}

func walk(n node, visit func(node)) {
	visit(n)
	if n.schema.Items != nil && n.schema.Items.Schema != nil {
		walk(node{kind: n.kind, path: n.path + "[]", schema: n.schema.Items.Schema}, visit)
	}
	if n.schema.AdditionalProperties != nil && n.schema.AdditionalProperties.Schema != nil {
		walk(node{kind: n.kind, path: n.path + "{}", schema: n.schema.AdditionalProperties.Schema}, visit)
	}
	for _, name := range slices.Sorted(maps.Keys(n.schema.Properties)) {
		property := n.schema.Properties[name]
		walk(node{
			kind: n.kind, path: strings.TrimPrefix(n.path+"."+name, "."),
			required: slices.Contains(n.schema.Required, name), schema: &property,
		}, visit)
	}
}
