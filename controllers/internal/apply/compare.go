package apply

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// observation is what there is of an object.
type observation struct {
	// live is the whole object.
	live *typed.TypedValue
	// owned are the fields that we own of it.
	owned *fieldpath.Set
	// extracted is the part of live that we own. It is nil when we own nothing.
	extracted *typed.TypedValue
}

// difference is how what we own of an object differs from what we want.
type difference struct {
	observation
	same bool
	// paths are the fields that differ. Empty when only an order differs.
	paths []fieldpath.Path
}

// compare compares the intent with those fields of live that we own.
func (e *Engine) compare(live client.Object, want *intent) (difference, error) {
	seen, err := e.observe(live, want.key)
	if err != nil {
		return difference{}, err
	}
	return seen.against(want)
}

// observe reads an object.
func (e *Engine) observe(live client.Object, key Key) (observation, error) {
	if live.GetObjectKind().GroupVersionKind().Empty() {
		live.GetObjectKind().SetGroupVersionKind(key.gvk())
	}
	// Others may have written what the schema does not allow; that is for the API server to judge.
	whole, err := e.schemas.typed(withoutManagedFields(live), key.gvk(), typed.AllowDuplicates)
	if err != nil {
		if isSecret(key.gvk()) {
			return observation{}, fmt.Errorf("compare %s with its intent: it does not fit the schema of its kind", key)
		}
		return observation{}, fmt.Errorf("compare %s with its intent: %w", key, err)
	}
	owned, err := ownedFields(live.GetManagedFields())
	if err != nil {
		return observation{}, fmt.Errorf("compare %s with its intent: %w", key, err)
	}
	seen := observation{live: whole, owned: owned}
	if owned.Empty() {
		return seen, nil
	}
	if seen.extracted, err = e.schemas.extract(whole, key.gvk(), owned); err != nil {
		return observation{}, fmt.Errorf("extract our fields of %s: they do not fit the schema of its kind", key)
	}
	return seen, nil
}

// against compares what we own with the intent.
func (o observation) against(want *intent) (difference, error) {
	diff := difference{observation: o}
	differing := want.fields.ToFieldSet
	if o.extracted != nil {
		if diff.same = value.Equals(o.extracted.AsValue(), want.fields.AsValue()); diff.same {
			return diff, nil
		}
		differing = func() (*fieldpath.Set, error) { return differences(o.extracted, want.fields) }
	}
	missing, err := differing()
	if err != nil {
		return difference{}, fmt.Errorf("compare %s with its intent: what it holds does not fit the schema of its kind", want.key)
	}
	diff.paths = readable(missing)
	return diff, nil
}

// withoutManagedFields returns a shallow copy. Half of an object is managedFields, and to walk them costs as much as all
// the rest.
func withoutManagedFields(object client.Object) client.Object {
	if content, ok := object.(*unstructured.Unstructured); ok {
		metadata, isMap := content.Object["metadata"].(map[string]any)
		if !isMap {
			return object
		}
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		whole := maps.Clone(content.Object)
		whole["metadata"] = metadata
		return &unstructured.Unstructured{Object: whole}
	}
	original := reflect.ValueOf(object).Elem()
	clone := reflect.New(original.Type())
	clone.Elem().Set(original)
	bare, ok := clone.Interface().(client.Object)
	if !ok {
		return object
	}
	bare.SetManagedFields(nil)
	return bare
}

// ownedFields returns the set of our own entry. It is empty when there is none.
func ownedFields(entries []metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	for i := range entries {
		if isOwn(&entries[i]) {
			return decode(&entries[i])
		}
	}
	return fieldpath.NewSet(), nil
}

// isOwn tells whether an entry is that of our applies to the object itself.
func isOwn(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Manager == FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

func decode(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("read the managed fields of %q: %w", entry.Manager, err)
	}
	return set, nil
}

func differences(have, want *typed.TypedValue) (*fieldpath.Set, error) {
	comparison, err := have.Compare(want)
	if err != nil {
		return nil, err
	}
	return comparison.Added.Union(comparison.Modified).Union(comparison.Removed), nil
}

// readable returns the paths that a reader needs, in order: a list item that is missing is one field and not also each of
// its parts, and a map of which all fields are missing is its fields.
func readable(set *fieldpath.Set) []fieldpath.Path {
	var paths []fieldpath.Path
	set.Iterate(func(path fieldpath.Path) { paths = append(paths, path.Copy()) })
	// A path sorts right before those inside of it.
	slices.SortFunc(paths, fieldpath.Path.Compare)
	var kept []fieldpath.Path
	for i, path := range paths {
		if len(path) == 0 || len(kept) > 0 && inside(path, kept[len(kept)-1]) {
			continue
		}
		isItem := path[len(path)-1].Key != nil
		if isItem || i+1 == len(paths) || !inside(paths[i+1], path) {
			kept = append(kept, path)
		}
	}
	return kept
}

func inside(inner, outer fieldpath.Path) bool {
	return len(outer) <= len(inner) && outer.Equals(inner[:len(outer)])
}
