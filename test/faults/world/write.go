package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// write is one request that changes an object.
type write struct {
	kind *kind
	id   ID
	// sub is "status" or empty.
	sub     string
	manager string
	force   bool
}

// apply is a server-side apply. It holds the lock.
func (w *World) apply(r write, config *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if r.manager == "" {
		return nil, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("PatchOptions").GroupKind(), "",
			field.ErrorList{field.Required(field.NewPath("fieldManager"), "is required for apply patch")})
	}
	live := w.now(r.id)
	intent := config.DeepCopy()
	uid, version := intent.GetUID(), intent.GetResourceVersion()
	unstructured.RemoveNestedField(intent.Object, "metadata", "uid")
	unstructured.RemoveNestedField(intent.Object, "metadata", "resourceVersion")
	r.restrict(intent.Object)
	if live == nil {
		if r.sub != "" {
			return nil, r.kind.notFound(r.id.Name)
		}
		if uid != "" {
			return nil, conflict(r, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		return w.create(r, func(empty *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return merged(r.kind.managers[""].Apply(empty, intent, r.manager, r.force))
		})
	}
	if version != "" && version != live.GetResourceVersion() {
		return nil, conflict(r, errChanged)
	}
	if uid != "" && uid != live.GetUID() && r.sub == "" {
		return nil, fixed(r, "metadata", "uid") // an apply to a status is not checked for it
	}
	next, err := merged(r.kind.managers[r.sub].Apply(live.DeepCopy(), intent, r.manager, r.force))
	if err != nil {
		return nil, err
	}
	rollsByDefault(next)
	return w.store(r, live, next)
}

// restrict takes out of an intent what the resource or subresource ignores.
func (r write) restrict(content map[string]any) {
	if !r.kind.status {
		return
	}
	if r.sub == "" {
		delete(content, "status")
		return
	}
	maps.DeleteFunc(content, func(name string, _ any) bool {
		return !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name)
	})
	if metadata, ok := content["metadata"].(map[string]any); ok {
		maps.DeleteFunc(metadata, func(name string, _ any) bool { return name != "name" && name != "namespace" })
	}
}

// create makes an object. make gets an empty one of that name.
func (w *World) create(r write, make func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	if err := w.admits(r); err != nil {
		return nil, err
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(r.kind.gvk)
	empty.SetName(r.id.Name)
	empty.SetNamespace(r.id.Namespace)
	made, err := make(empty)
	if err != nil {
		return nil, err
	}
	named(made)
	rollsByDefault(made)
	made.SetGroupVersionKind(r.kind.gvk)
	made.SetUID(w.newUID())
	made.SetCreationTimestamp(metav1.NewTime(time.Now().UTC().Truncate(time.Second)))
	unstructured.RemoveNestedField(made.Object, "metadata", "deletionTimestamp")
	if r.kind.counts {
		made.SetGeneration(1)
	}
	r.kind.complete(made.Object)
	if err := r.kind.valid(r.id.Name, made.Object); err != nil {
		return nil, err
	}
	if r.kind.gvk.Kind == "Secret" && made.Object["type"] == nil {
		made.Object["type"] = "Opaque"
	}
	w.put(r.id, made)
	return made, nil
}

// named gives a namespace the label that it always has.
func named(object *unstructured.Unstructured) {
	if object.GetKind() != namespaceKind.Kind {
		return
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[corev1.LabelMetadataName] = object.GetName()
	object.SetLabels(labels)
}

// admits tells whether the namespace takes new objects.
func (w *World) admits(r write) error {
	if !r.kind.namespaced {
		return nil
	}
	namespace := w.now(ID{Kind: "Namespace", NamespacedName: types.NamespacedName{Name: r.id.Namespace}})
	switch {
	case namespace == nil:
		return w.byKind[namespaceKind].notFound(r.id.Namespace)
	case namespace.GetDeletionTimestamp() == nil:
		return nil
	}
	err := apierrors.NewForbidden(r.kind.groupResource(), r.id.Name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", r.id.Namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: "NamespaceTerminating", Message: fmt.Sprintf("namespace %s is being terminated", r.id.Namespace), Field: "metadata.namespace",
	})
	return err
}

// update replaces an object by a whole one, or a part of it that a patch made.
func (w *World) update(r write, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := w.now(r.id)
	if live == nil {
		return nil, r.kind.notFound(r.id.Name)
	}
	if version := next.GetResourceVersion(); version != "" && version != live.GetResourceVersion() {
		return nil, conflict(r, errChanged)
	}
	if uid := next.GetUID(); uid != "" && uid != live.GetUID() {
		return nil, conflict(r, fmt.Errorf("precondition failed: UID in precondition: %v, UID in object meta: %v", uid, live.GetUID()))
	}
	next = next.DeepCopy()
	r.keep(live.Object, next.Object)
	rollsByDefault(next)
	next.SetResourceVersion(live.GetResourceVersion())
	managed := r.kind.managers[r.sub].UpdateNoErrors(live.DeepCopy(), next, r.manager)
	done, err := merged(managed, nil)
	if err != nil {
		return nil, err
	}
	return w.store(r, live, done)
}

// keep puts back what the resource or subresource ignores.
func (r write) keep(live, next map[string]any) {
	if !r.kind.status {
		return
	}
	for name := range next {
		if (name == "status") != (r.sub == "status") && name != "apiVersion" && name != "kind" {
			delete(next, name)
		}
	}
	for name, value := range live {
		if (name == "status") != (r.sub == "status") {
			next[name] = value
		}
	}
}

// patch is a merge patch or a JSON patch.
func (w *World) patch(r write, of types.PatchType, data []byte) (*unstructured.Unstructured, error) {
	live := w.now(r.id)
	if live == nil {
		return nil, r.kind.notFound(r.id.Name)
	}
	raw, err := json.Marshal(live.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", r.id, err)
	}
	switch of {
	case types.MergePatchType:
		raw, err = jsonpatch.MergePatch(raw, data)
	case types.JSONPatchType:
		var steps jsonpatch.Patch
		if steps, err = jsonpatch.DecodePatch(data); err == nil {
			raw, err = steps.Apply(raw)
		}
	default:
		return nil, fmt.Errorf("patch %s: the world knows no %s", r.id, of)
	}
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", r.kind.groupResource(), r.id.Name, err.Error(), 0, false)
	}
	next := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &next.Object); err != nil {
		return nil, fmt.Errorf("decode the patched %s: %w", r.id, err)
	}
	next.Object, _ = whole(next.Object).(map[string]any)
	if version := next.GetResourceVersion(); version != live.GetResourceVersion() {
		return nil, conflict(r, errChanged)
	}
	if next.GetUID() != live.GetUID() && r.sub == "" {
		return nil, fixed(r, "metadata", "uid")
	}
	next.SetUID(live.GetUID())
	return w.update(r, next)
}

// store is the end of every write to an object that is there.
func (w *World) store(r write, live, next *unstructured.Unstructured) (*unstructured.Unstructured, error) { //nolint:gocyclo // the end of every write, in the API server's order
	next.SetUID(live.GetUID())
	next.SetResourceVersion(live.GetResourceVersion())
	for _, name := range []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"} {
		value, found, _ := unstructured.NestedFieldNoCopy(live.Object, "metadata", name)
		if found {
			_ = unstructured.SetNestedField(next.Object, value, "metadata", name)
		} else {
			unstructured.RemoveNestedField(next.Object, "metadata", name)
		}
	}
	r.kind.complete(next.Object)
	if err := r.kind.valid(r.id.Name, next.Object); err != nil {
		return nil, err
	}
	for _, path := range r.kind.fixed {
		was, _, _ := unstructured.NestedFieldNoCopy(live.Object, path...)
		is, _, _ := unstructured.NestedFieldNoCopy(next.Object, path...)
		if is == nil && len(path) == 1 {
			next.Object[path[0]] = was
		} else if !equality.Semantic.DeepEqual(was, is) {
			return nil, fixed(r, path...)
		}
	}
	if live.GetDeletionTimestamp() != nil {
		for _, finalizer := range next.GetFinalizers() {
			if !slices.Contains(live.GetFinalizers(), finalizer) {
				return nil, apierrors.NewInvalid(r.kind.gvk.GroupKind(), r.id.Name, field.ErrorList{field.Forbidden(
					field.NewPath("metadata", "finalizers"), "no new finalizers can be added if the object is being deleted")})
			}
		}
	}
	if equality.Semantic.DeepEqual(live.Object, next.Object) {
		return live, nil
	}
	if r.kind.counts && r.sub == "" && !equality.Semantic.DeepEqual(wish(live), wish(next)) {
		next.SetGeneration(live.GetGeneration() + 1)
	}
	w.put(r.id, next)
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && !w.holdsOn(next) {
		w.put(r.id, nil)
	}
	return next, nil
}

// wish is the part of an object that its generation counts.
func wish(object *unstructured.Unstructured) map[string]any {
	out := maps.Clone(object.Object)
	delete(out, "metadata")
	delete(out, "status")
	return out
}

var errChanged = fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again")

func conflict(r write, err error) error {
	return apierrors.NewConflict(r.kind.groupResource(), r.id.Name, err)
}

func fixed(r write, path ...string) error {
	return apierrors.NewInvalid(r.kind.gvk.GroupKind(), r.id.Name,
		field.ErrorList{field.Invalid(field.NewPath(path[0], path[1:]...), nil, "field is immutable")})
}
