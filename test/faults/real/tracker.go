package real

import (
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// tracker makes changes out of objects that are seen: in the answers to the
// operator's writes, which makes what it does known at once, and in a watch,
// which shows everybody's. Each change is told once, in the order of versions.
type tracker struct {
	changed func(world.Change)

	mu    sync.Mutex
	known map[world.ID]*unstructured.Unstructured
	// versions are the newest seen of each object, those that are gone included.
	versions map[world.ID]uint64
}

func newTracker(changed func(world.Change)) *tracker {
	return &tracker{changed: changed, known: map[world.ID]*unstructured.Unstructured{}, versions: map[world.ID]uint64{}}
}

// answered takes the object of an answer. What is no object of ours is left to
// the watch.
func (t *tracker) answered(body []byte) {
	object := &unstructured.Unstructured{}
	if object.UnmarshalJSON(body) != nil || object.GetUID() == "" || object.GetKind() == "PartialObjectMetadata" {
		return
	}
	t.seen(object, false)
}

// seen takes an object as it is, or as it was when it went.
func (t *tracker) seen(object *unstructured.Unstructured, gone bool) {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	id := world.ID{Kind: object.GetKind()}
	id.Namespace, id.Name = object.GetNamespace(), object.GetName()
	t.mu.Lock()
	defer t.mu.Unlock()
	if version <= t.versions[id] {
		return
	}
	t.versions[id] = version
	before := t.known[id]
	if before != nil && (gone || before.GetUID() != object.GetUID()) {
		delete(t.known, id)
		t.changed(world.Change{ID: id, Before: before})
		before = nil
	}
	if !gone {
		t.known[id] = object
		t.changed(world.Change{ID: id, Before: before, After: object})
	}
}
