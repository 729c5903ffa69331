package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Key names an object. Namespace is empty for a cluster-scoped one.
type Key struct {
	Group, Version, Kind, Namespace, Name string
}

// String returns the key for a reader: "Deployment ns/name".
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// KeyOf is the key of an object of that kind.
func KeyOf(gvk schema.GroupVersionKind, o client.Object) Key {
	return Key{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (k Key) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

func (k Key) objectKey() client.ObjectKey {
	return client.ObjectKey{Namespace: k.Namespace, Name: k.Name}
}

// Record is what the owner's status remembers of a child.
type Record struct {
	Kind, Name string
	// UID of the child. Empty until it has been seen.
	UID types.UID
	// Intent is a hash of what was last applied. Empty until something was.
	Intent string
}

// recordKey identifies a record: an owner has no two children of one kind and name.
type recordKey struct{ kind, name string }

func (r Record) key() recordKey { return recordKey{kind: r.Kind, name: r.Name} }

// Action is what was done to a child.
type Action string

const (
	// Created is the first creation of a child.
	Created Action = "Created"
	// Updated is a change that the intent asked for.
	Updated Action = "Updated"
	// Corrected is a change that undid what somebody else did: the intent is the one applied last time.
	Corrected Action = "Corrected"
	// Reclaimed is a change of fields that had been left to another manager, and that it has let go.
	Reclaimed Action = "Reclaimed"
	// Deleted is the end of a child that is no longer rendered.
	Deleted Action = "Deleted"
)

const (
	// PathDeleted stands in FieldDrift.Path when the whole child had been deleted.
	PathDeleted = "deleted"
	// PathOrder stands in FieldDrift.Path when only the order of a list had been changed.
	PathOrder = "order of a list"
)

// FieldDrift is a field of ours that somebody else changed. It never holds a value.
type FieldDrift struct {
	// Path of the field, as "spec.template.spec.containers[name=server].image".
	Path string
	// Manager who owns the field now. Empty when nobody does, as after a removal.
	Manager string
	// Operation by which the manager got it: Apply or Update.
	Operation string
	// Time of the manager's last write that changed its set of fields.
	Time metav1.Time
}

// Change is what a pass did to one child.
type Change struct {
	Key    Key
	Action Action
	// Fields tell what had drifted. Only set when the action is Corrected or Reclaimed.
	Fields []FieldDrift
	// Forced are the fields that were taken from other managers.
	Forced []FieldDrift
}

// Field is a field of a child.
type Field struct {
	Key Key
	FieldDrift
}

// Report is the outcome of a pass.
type Report struct {
	// Records belong into the owner's status. They are sorted by kind and name.
	Records []Record
	// Changes in the order in which they were made. Empty when everything was as it should be.
	Changes []Change
	// NoOps are children to which an apply changed nothing: the server normalises a value of the intent. It is not repeated
	// for one resync, unless the child or the intent changes.
	NoOps []Key
	// Ceded are fields of the intents that are left to the managers who have them, as long as they do. See
	// Options.Yieldable.
	Ceded []Field
	// Contested are fields that one manager took back five times in ten minutes. They are repaired once per resync from
	// then on, until they stay as repaired for that long.
	Contested []Field
	// Reowned are children that had lost their managedFields, by which it is known what is ours of them. That is restored.
	Reowned []Key
	// Kept are recorded children that are no longer rendered and were not deleted, because the record is theirs but the
	// owner reference is gone. They stay recorded.
	Kept []Key
	// Live are the children after the pass: the cached one where nothing was applied. They belong to the caller, provided
	// that the cache hands out copies. What was refused is not in it.
	Live map[Key]client.Object
}

// Object returns the child of that kind and name from Live, or nil.
func (r Report) Object(kind, name string) client.Object {
	for key, object := range r.Live {
		if key.Kind == kind && key.Name == name {
			return object
		}
	}
	return nil
}
