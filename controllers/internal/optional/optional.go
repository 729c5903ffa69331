// Package optional watches kinds that the cluster may or may not serve: those of CRDs that somebody else installs and
// removes, before or after the operator starts.
//
// A watch of an absent kind, registered before the start, would end the manager. So a kind is watched only while it is
// both wanted by some object and served. As long as it is wanted, discovery is asked once a minute, there or not. When the
// kind arrives, its informer is started and the controllers get a new source; when it goes, or nobody wants it any more,
// the informer is removed. In between nobody may read the kind through the cache, since that would start an informer which
// can never sync: ask [Kinds.Served] first.
//
// The objects that want a kind are reconciled when it arrives and when it goes.
package optional

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// defaultPeriod is the default of Options.Period.
const defaultPeriod = time.Minute

// Discovery tells what the cluster serves. A client-go discovery client without a cache is one.
type Discovery interface {
	// ServerResourcesForGroupVersion returns the kinds of a version of a group, or a 404.
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Options are what Kinds work with. Discovery and Cache are required.
type Options struct {
	Discovery Discovery
	// Cache is the manager's. Kinds are read from it as unstructured objects.
	Cache cache.Cache
	// Period between two questions to discovery. The default is a minute.
	Period time.Duration
	// Clock is the clock. The default is the real one.
	Clock clock.WithTicker
}

// Kinds are the optional kinds. Make them with New and add them to the manager. All methods may be called concurrently.
type Kinds struct {
	discovery Discovery
	cache     cache.Cache
	period    time.Duration
	clock     clock.WithTicker
	// look asks for a look before the period is over.
	look chan struct{}

	mu sync.Mutex
	// wants are the kinds that each object wants.
	wants   map[types.NamespacedName][]schema.GroupVersionKind
	watches map[schema.GroupVersionKind][]*watch
	// bound are the kinds whose informer runs.
	bound map[schema.GroupVersionKind]bool
}

// watch is what a controller wants to hear of a kind.
type watch struct {
	controller controller.Controller
	handler    handler.EventHandler
	predicates []predicate.Predicate
	// queue is the controller's, once it runs.
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// New returns Kinds of which nobody wants any.
func New(options Options) *Kinds {
	if options.Period <= 0 {
		options.Period = defaultPeriod
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Kinds{
		discovery: options.Discovery,
		cache:     options.Cache,
		period:    options.Period,
		clock:     options.Clock,
		look:      make(chan struct{}, 1),
		wants:     map[types.NamespacedName][]schema.GroupVersionKind{},
		watches:   map[schema.GroupVersionKind][]*watch{},
		bound:     map[schema.GroupVersionKind]bool{},
	}
}

// Watch has the controller handle the events of a kind whenever it is served and wanted. It is called before the manager
// starts. The handler gets *unstructured.Unstructured.
func (k *Kinds) Watch(c controller.Controller, gvk schema.GroupVersionKind, h handler.EventHandler, predicates ...predicate.Predicate) error {
	w := &watch{controller: c, handler: h, predicates: predicates}
	k.mu.Lock()
	k.watches[gvk] = append(k.watches[gvk], w)
	k.mu.Unlock()
	// Not a source of events, but the one way to the queue.
	err := c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		w.queue = queue
		return nil
	}))
	if err != nil {
		return fmt.Errorf("watch the optional kind %s: %w", gvk, err)
	}
	return nil
}

// Want says which kinds an object wants now, in place of what it wanted before. Without kinds it wants none: say so when
// it is deleted. What is wanted for the first time is looked for at once.
func (k *Kinds) Want(object types.NamespacedName, kinds ...schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.wanted()
	if len(kinds) == 0 {
		delete(k.wants, object)
	} else {
		k.wants[object] = append([]schema.GroupVersionKind(nil), kinds...)
	}
	for gvk := range k.wanted() {
		if !before[gvk] {
			k.hurry()
			return
		}
	}
}

// Served tells whether the kind is there and can be read through the cache. It is false for a kind that nobody wants, and
// until the look that follows the first Want.
func (k *Kinds) Served(gvk schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bound[gvk]
}

// Start looks for the wanted kinds until ctx ends. The manager calls it.
func (k *Kinds) Start(ctx context.Context) error {
	ticker := k.clock.NewTicker(k.period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		case <-k.look:
		}
		k.lookAround(ctx)
	}
}

func (k *Kinds) hurry() {
	select {
	case k.look <- struct{}{}:
	default:
	}
}

// wanted is called with the lock held.
func (k *Kinds) wanted() map[schema.GroupVersionKind]bool {
	wanted := map[schema.GroupVersionKind]bool{}
	for _, kinds := range k.wants {
		for _, gvk := range kinds {
			wanted[gvk] = true
		}
	}
	return wanted
}
