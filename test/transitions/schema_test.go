package transitions_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// node is one place in the spec of a kind. Its path is below spec; [] stands for
// any item of a list, {} for any value of a map.
type node struct {
	path     string
	required bool
	schema   *apiextensionsv1.JSONSchemaProps
}

// schemaOf lists every place below the spec of a kind, in a fixed order.
func schemaOf(kind string) ([]node, error) {
	files, err := filepath.Glob(testenv.Path("config", "crd", "terdut.ryuvia.com_*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("look for definitions: %w", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a definition: %w", err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, definition); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if definition.Spec.Names.Kind != kind {
			continue
		}
		spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		var nodes []node
		walk(node{schema: &spec}, func(n node) { nodes = append(nodes, n) })
		return nodes[1:], nil // the spec itself is no field
	}
	return nil, fmt.Errorf("find the definition of %s in config/crd: there is none", kind)
}

func walk(n node, visit func(node)) {
	visit(n)
	if n.schema.Items != nil && n.schema.Items.Schema != nil {
		walk(node{path: n.path + "[]", schema: n.schema.Items.Schema}, visit)
	}
	if n.schema.AdditionalProperties != nil && n.schema.AdditionalProperties.Schema != nil {
		walk(node{path: n.path + "{}", schema: n.schema.AdditionalProperties.Schema}, visit)
	}
	for _, name := range slices.Sorted(maps.Keys(n.schema.Properties)) {
		property := n.schema.Properties[name]
		walk(node{
			path:     strings.TrimPrefix(n.path+"."+name, "."),
			required: slices.Contains(n.schema.Required, name), schema: &property,
		}, visit)
	}
}

// isList, isMap and isObject tell the shapes apart that have something inside.
func (n node) isList() bool { return n.schema.Type == "array" }
func (n node) isMap() bool  { return n.schema.Type == "object" && n.schema.AdditionalProperties != nil }
func (n node) isObject() bool {
	return n.schema.Type == "object" && n.schema.AdditionalProperties == nil
}

func (n node) isLeaf() bool { return !n.isObject() && !n.isList() && !n.isMap() }

// within tells whether the path lies inside the other one.
func within(path, other string) bool {
	rest, below := strings.CutPrefix(path, other)
	return below && rest != "" && strings.ContainsAny(rest[:1], ".[{")
}
