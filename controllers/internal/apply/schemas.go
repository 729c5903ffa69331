package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// schemas turns objects into values that know the schema of their kind. A kind without a schema, as one that is installed
// by somebody else, has a deduced one: every list is a single field then.
type schemas struct {
	converter managedfields.TypeConverter
	deduced   managedfields.TypeConverter
	// known remembers for each kind whether the converter has a schema of it.
	known sync.Map
}

func newSchemas(converter managedfields.TypeConverter) *schemas {
	return &schemas{converter: converter, deduced: managedfields.NewDeducedTypeConverter()}
}

// typed converts object, which must bear its kind.
func (s *schemas) typed(object runtime.Object, gvk schema.GroupVersionKind, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if s.knows(gvk) {
		return s.converter.ObjectToTyped(object, options...)
	}
	return s.deduced.ObjectToTyped(object, options...)
}

// extract returns the part of whole that the set names.
func (s *schemas) extract(whole *typed.TypedValue, gvk schema.GroupVersionKind, set *fieldpath.Set) (*typed.TypedValue, error) {
	if s.knows(gvk) {
		return whole.ExtractItems(set.Leaves()), nil
	}
	content, _ := extractByPaths(whole.AsValue().Unstructured(), set).(map[string]any)
	return s.deduced.ObjectToTyped(&unstructured.Unstructured{Object: content})
}

// knows asks with an object that fits every schema: converters do not agree on how they say that they have none.
func (s *schemas) knows(gvk schema.GroupVersionKind) bool {
	if known, found := s.known.Load(gvk); found {
		return known == true
	}
	probe := &unstructured.Unstructured{}
	probe.SetGroupVersionKind(gvk)
	_, err := s.converter.ObjectToTyped(probe)
	s.known.Store(gvk, err == nil)
	return err == nil
}

// extractByPaths returns the part of content that the set names, without a schema. The set of a manager tells by itself
// where lists have keys: the server, which knows the schema, has written it. A map that is named without any field in it
// is one field, and comes whole.
func extractByPaths(content any, set *fieldpath.Set) any {
	switch content := content.(type) {
	case map[string]any:
		extracted := make(map[string]any, len(content))
		for name, item := range content {
			if part, found := extractElement(item, set, fieldpath.FieldNameElement(name)); found {
				extracted[name] = part
			}
		}
		return extracted
	case []any:
		var extracted []any
		for _, item := range content {
			if element, named := elementOf(item, set); named {
				part, _ := extractElement(item, set, element)
				extracted = append(extracted, part)
			}
		}
		return extracted
	}
	return content
}

func extractElement(item any, set *fieldpath.Set, element fieldpath.PathElement) (any, bool) {
	if inner := set.WithPrefix(element); !inner.Empty() {
		return extractByPaths(item, inner), true
	}
	return item, set.Members.Has(element)
}

// elementOf returns the element of the set that selects the item of a list.
func elementOf(item any, set *fieldpath.Set) (fieldpath.PathElement, bool) {
	var selected *fieldpath.PathElement
	choose := func(element fieldpath.PathElement) {
		if selected == nil && selects(element, item) {
			selected = &element
		}
	}
	set.Members.Iterate(choose)
	set.Children.Iterate(choose)
	if selected == nil {
		return fieldpath.PathElement{}, false
	}
	return *selected, true
}

func selects(element fieldpath.PathElement, item any) bool {
	switch {
	case element.Key != nil:
		fields, isMap := item.(map[string]any)
		if !isMap {
			return false
		}
		for _, key := range *element.Key {
			field, found := fields[key.Name]
			if !found || !value.Equals(value.NewValueInterface(field), key.Value) {
				return false
			}
		}
		return true
	case element.Value != nil:
		return value.Equals(value.NewValueInterface(item), *element.Value)
	}
	return false
}
