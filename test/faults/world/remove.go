package world

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// remove is a DELETE. It holds the lock.
func (w *World) remove(r write, options client.DeleteOptions) error { //nolint:gocyclo // the checks of one request, in the API server's order
	live := w.now(r.id)
	if live == nil {
		return r.kind.notFound(r.id.Name)
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != live.GetUID() {
			return conflict(r, fmt.Errorf("precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, live.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion() {
			return conflict(r, fmt.Errorf("precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
				*p.ResourceVersion, live.GetResourceVersion()))
		}
	}
	next := live.DeepCopy()
	if policy := options.PropagationPolicy; policy != nil && *policy == metav1.DeletePropagationForeground &&
		live.GetDeletionTimestamp() == nil && !slices.Contains(next.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		next.SetFinalizers(append(next.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	if len(next.GetFinalizers()) == 0 && !w.holdsOn(next) {
		w.put(r.id, nil)
		return nil
	}
	if live.GetDeletionTimestamp() != nil {
		return nil
	}
	now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	next.SetDeletionTimestamp(&now)
	zero := int64(0)
	next.SetDeletionGracePeriodSeconds(&zero)
	if next.GetGeneration() > 0 {
		next.SetGeneration(next.GetGeneration() + 1)
	}
	if r.kind.gvk.Kind == namespaceKind.Kind {
		_ = unstructured.SetNestedField(next.Object, "Terminating", "status", "phase")
	}
	w.put(r.id, next)
	return nil
}

// holdsOn tells whether an object that is being deleted stays although it has
// no finalizers: a namespace does until it is empty.
func (w *World) holdsOn(object *unstructured.Unstructured) bool {
	return object.GetKind() == namespaceKind.Kind
}

// Step takes one step of what controllers of Kubernetes do: it deletes what is
// in namespaces that are going, and what has lost its owners, and ends what was
// deleted in the foreground. It tells whether anything changed.
func (w *World) Step() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.revision
	w.emptyNamespaces()
	w.collect()
	return w.revision != before
}

func (w *World) emptyNamespaces() {
	for _, namespace := range w.at(namespaceKind.Kind, w.revision) {
		if namespace.GetDeletionTimestamp() == nil {
			continue
		}
		empty := true
		for _, k := range w.order {
			for _, object := range w.at(k.gvk.Kind, w.revision) {
				if k.namespaced && object.GetNamespace() == namespace.GetName() {
					empty = false
					unrefused(w.remove(w.writeTo(k, object), client.DeleteOptions{})) // it is there, and nothing is demanded
				}
			}
		}
		if empty {
			w.put(ID{Kind: namespaceKind.Kind, NamespacedName: types.NamespacedName{Name: namespace.GetName()}}, nil)
		}
	}
}

func (w *World) collect() { //nolint:gocyclo // one sweep: what lives, what blocks, what goes
	alive, foreground := map[types.UID]bool{}, map[types.UID]bool{}
	blocked := map[types.UID]bool{}
	all := []*unstructured.Unstructured{}
	for _, k := range w.order {
		all = append(all, w.at(k.gvk.Kind, w.revision)...)
	}
	for _, object := range all {
		alive[object.GetUID()] = true
		foreground[object.GetUID()] = object.GetDeletionTimestamp() != nil &&
			slices.Contains(object.GetFinalizers(), metav1.FinalizerDeleteDependents)
	}
	for _, object := range all {
		owners := object.GetOwnerReferences()
		keeps := slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return alive[o.UID] && !foreground[o.UID] })
		for _, owner := range owners {
			if foreground[owner.UID] && owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion {
				blocked[owner.UID] = true
			}
		}
		if len(owners) > 0 && !keeps && object.GetDeletionTimestamp() == nil {
			unrefused(w.remove(w.writeTo(w.byKind[object.GroupVersionKind().GroupKind()], object), client.DeleteOptions{}))
		}
	}
	for _, object := range all {
		if !foreground[object.GetUID()] || blocked[object.GetUID()] {
			continue
		}
		r := w.writeTo(w.byKind[object.GroupVersionKind().GroupKind()], object)
		live := w.now(r.id)
		next := live.DeepCopy()
		next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
		_, err := w.store(r, live, next)
		unrefused(err) // taking a finalizer off never is
	}
}

// unrefused stops a world that refuses what it asks of itself.
func unrefused(err error) {
	if err != nil {
		panic(err)
	}
}

func (w *World) writeTo(k *kind, object *unstructured.Unstructured) write {
	return write{kind: k, id: ID{Kind: k.gvk.Kind, NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}}
}

// merged is the answer of a field manager.
func merged(object runtime.Object, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("merge: the field manager answered with a %T", object)
	}
	return u, nil
}
