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
// A pass that begins before the cache shows that write compares what it has to
// say with the status of before: it may find both equal, write nothing and rest,
// and no event would tell, for that of the write wakes nobody.
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
// Then a status that looks as it should is not to be believed.
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
