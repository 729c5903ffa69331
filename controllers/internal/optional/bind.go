package optional

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// syncTimeout is how long the first list of a kind may take.
const syncTimeout = 30 * time.Second

// lookAround asks discovery for each wanted kind, and binds and unbinds what has changed.
func (k *Kinds) lookAround(ctx context.Context) {
	k.mu.Lock()
	wanted := k.wanted()
	bound := make(map[schema.GroupVersionKind]bool, len(k.bound))
	for gvk := range k.bound {
		bound[gvk] = true
	}
	k.mu.Unlock()

	for gvk := range bound {
		if !wanted[gvk] {
			k.unbind(ctx, gvk)
		}
	}
	answers := map[schema.GroupVersion]answer{}
	for gvk := range wanted {
		if _, asked := answers[gvk.GroupVersion()]; !asked {
			answers[gvk.GroupVersion()] = k.ask(ctx, gvk.GroupVersion())
		}
		switch served, known := answers[gvk.GroupVersion()].serves(gvk.Kind); {
		case !known:
		case !served && !bound[gvk]:
			// Who asked Served just before the kind went may have started its informer again.
			k.remove(ctx, gvk)
		case served == bound[gvk]:
		case served:
			k.bind(ctx, gvk)
		default:
			k.unbind(ctx, gvk)
		}
	}
}

// answer is what discovery said about a version of a group.
type answer struct {
	known bool
	kinds map[string]bool
}

func (a answer) serves(kind string) (served, known bool) { return a.kinds[kind], a.known }

// ask asks discovery. Only a 404 means that the version is not served; after any other error nothing changes.
func (k *Kinds) ask(ctx context.Context, version schema.GroupVersion) answer {
	list, err := k.discovery.ServerResourcesForGroupVersion(version.String())
	switch {
	case apierrors.IsNotFound(err):
		return answer{known: true}
	case err != nil:
		log.FromContext(ctx).Info("cannot tell whether optional kinds are served; asking again later",
			"version", version.String(), "error", err.Error())
		return answer{}
	}
	found := answer{known: true, kinds: map[string]bool{}}
	for i := range list.APIResources {
		found.kinds[list.APIResources[i].Kind] = true
	}
	return found
}

// bind starts the informer of a kind and gives the controllers a source of its events.
func (k *Kinds) bind(ctx context.Context, gvk schema.GroupVersionKind) {
	logger := log.FromContext(ctx).WithValues("kind", gvk.String())
	object := empty(gvk)
	// A source would wait for ever for an informer that cannot sync, because the kind went again or may not be listed.
	syncing, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if _, err := k.cache.GetInformer(syncing, object); err != nil {
		k.remove(ctx, gvk)
		logger.Info("an optional kind is served and cannot be watched; trying again later", "error", err.Error())
		return
	}
	k.mu.Lock()
	watches := append([]*watch(nil), k.watches[gvk]...)
	k.mu.Unlock()
	for _, w := range watches {
		if err := w.controller.Watch(source.Kind(k.cache, client.Object(empty(gvk)), w.handler, w.predicates...)); err != nil {
			k.remove(ctx, gvk)
			logger.Info("an optional kind cannot be watched; trying again later", "error", err.Error())
			return
		}
	}
	logger.Info("an optional kind arrived")
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bound[gvk] = true
	k.wake(gvk)
}

// unbind ends the informer of a kind, and with it the sources that use it.
func (k *Kinds) unbind(ctx context.Context, gvk schema.GroupVersionKind) {
	k.mu.Lock()
	// From here on nobody reads it through the cache.
	delete(k.bound, gvk)
	k.mu.Unlock()
	k.remove(ctx, gvk)
	log.FromContext(ctx).Info("an optional kind went, or is no longer wanted", "kind", gvk.String())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wake(gvk)
}

func (k *Kinds) remove(ctx context.Context, gvk schema.GroupVersionKind) {
	if err := k.cache.RemoveInformer(ctx, empty(gvk)); err != nil {
		log.FromContext(ctx).Info("cannot remove the informer of an optional kind", "kind", gvk.String(), "error", err.Error())
	}
}

// wake has the objects that want the kind reconciled. An object is woken at every controller that watches the kind: one
// that does not know it finds nothing. It is called with the lock held.
func (k *Kinds) wake(gvk schema.GroupVersionKind) {
	for object, kinds := range k.wants {
		for _, wanted := range kinds {
			if wanted != gvk {
				continue
			}
			for _, w := range k.watches[gvk] {
				if w.queue != nil {
					w.queue.Add(reconcile.Request{NamespacedName: object})
				}
			}
		}
	}
}

func empty(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object
}

// WatchErrorHandler is for cache.Options.DefaultWatchErrorHandler. Between the removal of a CRD and the next look, its
// informer fails again and again with a 404; that is no error. All others are logged as usual.
func WatchErrorHandler(ctx context.Context, reflector *toolscache.Reflector, err error) {
	if apierrors.IsNotFound(err) {
		log.FromContext(ctx).V(1).Info("a kind is not served any more", "error", err.Error())
		return
	}
	toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
}
