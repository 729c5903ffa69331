package world

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// typedKey is one version of an object as one type of Go, in the shape that a
// view gives it or in its own.
type typedKey struct {
	of     *unstructured.Unstructured
	as     reflect.Type
	shaped bool
}

// decode puts a copy of a stored object into obj. shape, which may be nil,
// changes what is seen of it; all views with one have the same.
func (w *World) decode(from *unstructured.Unstructured, shape func(*unstructured.Unstructured), obj runtime.Object) error {
	switch into := obj.(type) {
	case *unstructured.Unstructured:
		into.Object = shapedBy(shape, from).Object
		return nil
	case *metav1.PartialObjectMetadata:
		raw, err := json.Marshal(shapedBy(shape, from).Object)
		if err != nil {
			return err
		}
		*into = metav1.PartialObjectMetadata{}
		return json.Unmarshal(raw, into)
	}
	into := reflect.ValueOf(obj).Elem()
	key := typedKey{of: from, as: into.Type(), shaped: shape != nil}
	w.decoding.Lock()
	defer w.decoding.Unlock()
	if known, ok := w.typed[key]; ok {
		into.Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
		return nil
	}
	// What an object had before and the answer has not must go.
	into.Set(reflect.Zero(into.Type()))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(shapedBy(shape, from).Object, obj); err != nil {
		return fmt.Errorf("decode a %s: %w", from.GetKind(), err)
	}
	if typed, ok := obj.DeepCopyObject().(client.Object); ok {
		w.typed[key] = typed
	}
	return nil
}

// shapedBy is a copy of an object in that shape.
func shapedBy(shape func(*unstructured.Unstructured), object *unstructured.Unstructured) *unstructured.Unstructured {
	out := object.DeepCopy()
	if shape != nil {
		shape(out)
	}
	return out
}
