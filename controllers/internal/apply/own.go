package apply

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// reown restores what we own of an object whose managedFields were cleared, and tells whether it did. applied says that we
// are known to have applied to the object. An apply alone would not do: the API server books all that it finds then under
// a name that is nobody's, and what is co-owned by it is never removed again. So we book those fields of the intent that
// are as wanted, and nothing else. What differs is left to the apply that follows.
func (e *Engine) reown(ctx context.Context, want *intent, live client.Object, applied bool) (client.Object, bool, error) {
	entries := live.GetManagedFields()
	if hasOwn(entries) || !applied && !vanished(entries) || !e.schemas.knows(want.key.gvk()) {
		return live, false, nil
	}
	seen, err := e.observe(live, want.key)
	if err != nil {
		return nil, false, err
	}
	equal, err := equalFields(seen, want)
	if err != nil {
		return nil, false, fmt.Errorf("list the fields of %s: they do not fit the schema of its kind", want.key)
	}
	if equal.Empty() {
		return live, false, nil
	}
	entries, err = e.book(entries, want.key, equal, func(m managed) bool { return m.entry.Manager == beforeFirstApply })
	if err != nil {
		return nil, false, err
	}
	live, err = e.patch(ctx, want.key, live, entries)
	return live, err == nil, err
}

func hasOwn(entries []metav1.ManagedFieldsEntry) bool {
	for i := range entries {
		if isOwn(&entries[i]) {
			return true
		}
	}
	return false
}

// vanished tells whether managedFields were cleared, possibly before others applied.
func vanished(entries []metav1.ManagedFieldsEntry) bool {
	nobody := len(entries) == 0
	for i := range entries {
		nobody = nobody || entries[i].Manager == beforeFirstApply
	}
	return nobody
}

// equalFields returns the fields of the intent that are as wanted. Items of lists are fields: it suffices that they exist.
func equalFields(seen observation, want *intent) (*fieldpath.Set, error) {
	wanted, err := want.fields.ToFieldSet()
	if err != nil {
		return nil, err
	}
	leaves, equal := wanted.Leaves(), fieldpath.NewSet()
	wanted.Iterate(func(path fieldpath.Path) {
		current, exists := valueAt(seen.live.AsValue(), path)
		wantedValue, named := valueAt(want.fields.AsValue(), path)
		if exists && named && (!leaves.Has(path) || value.Equals(wantedValue, current)) {
			equal.Insert(path.Copy())
		}
	})
	return equal, nil
}

// book returns the entries with the fields added to ours, and taken out of the others that from selects.
func (e *Engine) book(entries []metav1.ManagedFieldsEntry, key Key, fields *fieldpath.Set, from func(managed) bool,
) ([]metav1.ManagedFieldsEntry, error) {
	now := metav1.NewTime(e.now()).Rfc3339Copy()
	own := metav1.ManagedFieldsEntry{
		Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: key.gvk().GroupVersion().String(), Time: &now, FieldsType: "FieldsV1",
	}
	booked := make([]metav1.ManagedFieldsEntry, 0, len(entries)+1)
	for i := range entries {
		set, err := decode(&entries[i])
		switch {
		case err != nil:
			return nil, err
		case isOwn(&entries[i]):
			own, fields = entries[i], set.Union(fields)
			continue
		}
		entry := entries[i]
		if from(managed{entry: &entries[i], set: set}) {
			if set = set.Difference(fields); set.Empty() {
				continue
			}
			if err = encode(&entry, set); err != nil {
				return nil, err
			}
		}
		booked = append(booked, entry)
	}
	if err := encode(&own, fields); err != nil {
		return nil, err
	}
	return append(booked, own), nil
}

func encode(entry *metav1.ManagedFieldsEntry, set *fieldpath.Set) error {
	raw, err := set.ToJSON()
	if err != nil {
		return fmt.Errorf("write the managed fields of %q: %w", entry.Manager, err)
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return nil
}

// operation is one step of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch writes the managedFields of exactly this version of an object, and whatever else is given. What else is changed by
// it is owned by an Update entry of ours. A copy of live is returned, as it is then.
func (e *Engine) patch(ctx context.Context, key Key, live client.Object, entries []metav1.ManagedFieldsEntry, more ...operation,
) (client.Object, error) {
	steps := append([]operation{
		// "add" replaces what exists, and needs no managedFields to be there.
		{Op: "add", Path: "/metadata/managedFields", Value: entries},
		// With "replace" another version is a 409, with "test" it would be a 422.
		{Op: "replace", Path: "/metadata/resourceVersion", Value: live.GetResourceVersion()},
	}, more...)
	data, err := json.Marshal(steps)
	if err != nil {
		return nil, fmt.Errorf("write the managed fields of %s: %w", key, err)
	}
	patched, ok := live.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("write the managed fields of %s: a copy of %T is no object", key, live)
	}
	err = e.client.Patch(ctx, patched, client.RawPatch(types.JSONPatchType, data), client.FieldOwner(FieldManager))
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil, &LookAgain{Key: key, Err: err}
	}
	if err != nil {
		return nil, requestError("write the managed fields of", key, err)
	}
	return patched, nil
}

// obstacle is a field that the API server sets by default, and refuses once another field has a certain value.
type obstacle struct {
	path []string
	// when is the other field, and is its value.
	when []string
	is   string
}

var obstacles = map[schema.GroupKind]obstacle{
	{Group: "apps", Kind: "Deployment"}: {
		path: []string{"spec", "strategy", "rollingUpdate"}, when: []string{"spec", "strategy", "type"}, is: "Recreate",
	},
	{Group: "apps", Kind: "StatefulSet"}: {
		path: []string{"spec", "updateStrategy", "rollingUpdate"}, when: []string{"spec", "updateStrategy", "type"}, is: "OnDelete",
	},
}

// inTheWay returns the fields of the object that the API server refuses beside the intent, and that are not in the intent.
func inTheWay(seen observation, want *intent) *fieldpath.Set {
	fields := fieldpath.NewSet()
	way, known := obstacles[want.key.gvk().GroupKind()]
	if !known {
		return fields
	}
	wanted, isWanted := lookUp(want.fields.AsValue(), way.when)
	stands, exists := lookUp(seen.live.AsValue(), way.path)
	if !isWanted || !wanted.IsString() || wanted.AsString() != way.is || !exists || !stands.IsMap() {
		return fields
	}
	path := fieldpath.Path{}
	for _, name := range way.path {
		path = append(path, fieldpath.FieldNameElement(name))
	}
	fields.Insert(path.Copy())
	stands.AsMap().Iterate(func(name string, _ value.Value) bool {
		fields.Insert(append(path.Copy(), fieldpath.FieldNameElement(name)))
		return true
	})
	return fields
}

// clearWay makes the fields that stand in the way of the intent ours alone: the apply that follows does not name them, and
// so removes them.
func (e *Engine) clearWay(ctx context.Context, verdict judgement, live client.Object) (client.Object, error) {
	fields := inTheWay(verdict.observation, verdict.want)
	if fields.Empty() {
		return live, nil
	}
	entries, err := e.book(live.GetManagedFields(), verdict.want.key, fields, func(managed) bool { return true })
	if err != nil {
		return nil, err
	}
	return e.patch(ctx, verdict.want.key, live, entries)
}
