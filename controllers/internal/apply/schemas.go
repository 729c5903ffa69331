package apply

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// schemas turns objects into values that know the schema of their kind.
type schemas struct {
	converter managedfields.TypeConverter
	// known remembers for each kind whether the converter has a schema of it.
	known sync.Map
}

func newSchemas(converter managedfields.TypeConverter) *schemas {
	return &schemas{converter: converter}
}

// typed converts object, which must bear its kind.
func (s *schemas) typed(object runtime.Object, gvk schema.GroupVersionKind, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if s.knows(gvk) {
		return s.converter.ObjectToTyped(object, options...)
	}
	if content, ok := object.(*unstructured.Unstructured); ok {
		return deduced().FromUnstructured(content.Object, options...)
	}
	return deduced().FromStructured(object, options...)
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

// deduced is the type of kinds without a schema. Only metadata is the same for all kinds.
var deduced = sync.OnceValue(func() typed.ParseableType {
	parser, err := typed.NewParser(deducedSchema)
	if err != nil {
		panic(fmt.Sprintf("the schema for kinds without a schema: %v", err))
	}
	return parser.Type("object")
})

const deducedSchema = `types:
- name: object
  map:
    fields:
    - name: metadata
      type: {namedType: metadata}
    elementType: {namedType: __untyped_deduced_}
- name: metadata
  map:
    fields:
    - name: finalizers
      type:
        list:
          elementType: {scalar: string}
          elementRelationship: associative
    - name: ownerReferences
      type:
        list:
          elementType: {namedType: __untyped_atomic_}
          elementRelationship: associative
          keys: [uid]
    elementType: {namedType: __untyped_deduced_}
- name: __untyped_atomic_
  scalar: untyped
  list:
    elementType: {namedType: __untyped_atomic_}
    elementRelationship: atomic
  map:
    elementType: {namedType: __untyped_atomic_}
    elementRelationship: atomic
- name: __untyped_deduced_
  scalar: untyped
  list:
    elementType: {namedType: __untyped_atomic_}
    elementRelationship: atomic
  map:
    elementType: {namedType: __untyped_deduced_}
    elementRelationship: separable
`
