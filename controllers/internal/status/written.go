package status

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cacheLag is how long the cache may take to show a write. Later, versions that
// are less than the one written are those of a cluster that was restored.
const cacheLag = time.Minute

// Written remembers to which version the last write of each object's status led.
// A pass that begins before the cache shows that write has nothing to go on: it
// asks and tells once more what the last pass has learnt, its writes are refused,
// and where it finds that the status of before says all there is to say, it rests,
// for the event of a status wakes nobody.
//
// The zero value is ready. It may be used by several goroutines.
type Written struct {
	mu    sync.Mutex
	last  map[types.UID]write
	swept time.Time
}

type write struct {
	version string
	at      time.Time
}

// Note remembers that a write has led to the version that an object has now.
func (w *Written) Note(o client.Object, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[types.UID]write{}
	}
	if now.Sub(w.swept) > cacheLag {
		w.swept = now
		for uid, one := range w.last {
			if now.Sub(one.at) > cacheLag {
				delete(w.last, uid)
			}
		}
	}
	w.last[o.GetUID()] = write{version: o.GetResourceVersion(), at: now}
}

// Outdated tells whether an object is from before the last write of its status.
// Then it is not worth a pass: it is looked at again a moment later.
func (w *Written) Outdated(o client.Object, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, known := w.last[o.GetUID()]
	if !known || now.Sub(last.at) > cacheLag {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), last.version)
	return err == nil && order < 0
}
