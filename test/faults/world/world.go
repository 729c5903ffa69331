package world

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ID names one object.
type ID struct {
	Kind string
	types.NamespacedName
}

// String implements fmt.Stringer.
func (id ID) String() string { return id.Kind + " " + id.NamespacedName.String() }

// Change is one write that changed something.
type Change struct {
	ID
	// Before is nil for a creation, After for a removal. Both are read only.
	Before, After *unstructured.Unstructured
}

// version is an object from one revision on; nil from when it is gone.
type version struct {
	revision int64
	object   *unstructured.Unstructured
}

// World is one API server. Make it with New.
type World struct {
	*catalogue

	mu       sync.Mutex
	revision int64
	made     int
	// history has every version of every object, the oldest first.
	history map[ID][]version
	// indices are functions that tell how an object is found by a field.
	indices map[string]client.IndexerFunc
	// watchers are told of every change.
	watchers []func(Change)

	decoding sync.Mutex
	// typed has what versions were decoded to: most are read again and again.
	typed map[typedKey]client.Object
}

// New makes an empty world.
func New() (*World, error) {
	c, err := kinds()
	if err != nil {
		return nil, err
	}
	return &World{catalogue: c, history: map[ID][]version{}, indices: map[string]client.IndexerFunc{}, typed: map[typedKey]client.Object{}}, nil
}

// Watch has f told of every change, at once and in order. f may read the world
// and not write to it.
func (w *World) Watch(f func(Change)) { w.watchers = append(w.watchers, f) }

// Revision counts the writes that changed something.
func (w *World) Revision() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.revision
}

// Scheme knows the types of everything that the world serves.
func (w *World) Scheme() *runtime.Scheme { return w.scheme }

// RESTMapper knows the kinds that the world serves.
func (w *World) RESTMapper() meta.RESTMapper { return w.mapper }

// Objects are all objects of a kind, by namespace and name; of every kind, in
// the world's order, when none is named. They are read only.
func (w *World) Objects(kinds ...string) []*unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*unstructured.Unstructured
	for _, k := range w.order {
		if len(kinds) == 0 || slices.Contains(kinds, k.gvk.Kind) {
			out = append(out, w.at(k.gvk.Kind, w.revision)...)
		}
	}
	return out
}

// Object is one object as it is now, or nil. It is read only.
func (w *World) Object(id ID) *unstructured.Unstructured {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now(id)
}

// at are the objects of a kind as they were at a revision.
func (w *World) at(kind string, revision int64) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, id := range w.ids(kind) {
		if o := w.past(id, revision, nil); o != nil {
			out = append(out, o)
		}
	}
	return out
}

// ids are all names that a kind ever had an object of, by namespace and name.
func (w *World) ids(kind string) (out []ID) {
	for id := range w.history {
		if id.Kind == kind {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b ID) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// now is an object as it is, or nil.
func (w *World) now(id ID) *unstructured.Unstructured { return w.past(id, w.revision, nil) }

// past is an object as it was at a revision, or nil. hides, which may be nil,
// tells which versions do not count.
func (w *World) past(id ID, revision int64, hides func(ID, int64) bool) *unstructured.Unstructured {
	all := w.history[id]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].revision <= revision && (hides == nil || !hides(id, all[i].revision)) {
			return all[i].object
		}
	}
	return nil
}

// put stores what an object is from now on; nil removes it.
func (w *World) put(id ID, object *unstructured.Unstructured) {
	before := w.now(id)
	w.revision++
	if object != nil {
		object.SetResourceVersion(strconv.FormatInt(w.revision, 10))
	}
	w.history[id] = append(w.history[id], version{w.revision, object})
	change := Change{ID: id, Before: before, After: object}
	w.mu.Unlock()
	defer w.mu.Lock()
	for _, f := range w.watchers {
		f(change)
	}
}

// newUID numbers objects in the order in which they are made. The first eight
// characters differ: names of provisional objects are built from them.
func (w *World) newUID() types.UID {
	w.made++
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", 0xa0000000+w.made, w.made))
}

// kindOf finds the kind by name.
func (w *World) kindOf(gvk schema.GroupVersionKind) (*kind, error) {
	k, ok := w.byKind[gvk.GroupKind()]
	if !ok {
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	return k, nil
}

func (k *kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.gvk.Group, Resource: k.resource}
}

func (k *kind) notFound(name string) error {
	return apierrors.NewNotFound(k.groupResource(), name)
}
