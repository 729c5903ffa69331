package real

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// shown are the kinds that a scenario may touch, in the order in which a state
// shows them.
var shown = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Namespace"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"},
	{Group: "acid.zalan.do", Version: "v1", Kind: "postgresql"},
	v1alpha1.SchemeGroupVersion.WithKind("TerdutAlertSource"),
	v1alpha1.SchemeGroupVersion.WithKind("TerdutDeadmanSwitch"),
	v1alpha1.SchemeGroupVersion.WithKind("TerdutEscalationRule"),
	v1alpha1.SchemeGroupVersion.WithKind("TerdutServer"),
	v1alpha1.SchemeGroupVersion.WithKind("TerdutTeam"),
}

// kinds are what the operator writes and what a scenario touches, by resource.
func kinds(mapper meta.RESTMapper) (map[schema.GroupResource]string, error) {
	out := map[schema.GroupResource]string{}
	for _, gvk := range shown {
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return nil, fmt.Errorf("find the resource of %s: %w", gvk.Kind, err)
		}
		out[mapping.Resource.GroupResource()] = gvk.Kind
	}
	return out, nil
}

// cluster is what the oracles of a run see, read past every cache.
type cluster struct{ people client.Client }

// Objects implements faults.Cluster. An API server that does not answer ends the
// run.
func (c *cluster) Objects(names ...string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, gvk := range shown {
		if len(names) > 0 && !slices.Contains(names, gvk.Kind) {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.people.List(context.Background(), list); err != nil {
			panic(fmt.Sprintf("list %s: %v", gvk.Kind, err))
		}
		some := make([]*unstructured.Unstructured, 0, len(list.Items))
		for i := range list.Items {
			some = append(some, &list.Items[i])
		}
		slices.SortFunc(some, func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
		out = append(out, some...)
	}
	return out
}

// Object implements faults.Cluster.
func (c *cluster) Object(id world.ID) *unstructured.Unstructured {
	i := slices.IndexFunc(shown, func(gvk schema.GroupVersionKind) bool { return gvk.Kind == id.Kind })
	if i < 0 || id.Name == "" {
		return nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(shown[i])
	err := c.people.Get(context.Background(), id.NamespacedName, object)
	if client.IgnoreNotFound(err) != nil {
		panic(fmt.Sprintf("get %s: %v", id, err))
	}
	if err != nil {
		return nil
	}
	return object
}
