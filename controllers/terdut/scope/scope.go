// Package scope knows which namespaces the operator looks at: all of them, or
// those that --watch-namespaces names. In the second case it has a Role in each
// and no ClusterRole. Such a Role lets it get the Namespace that it is in, but
// neither list nor watch Namespaces, and nothing can be asked of the cluster as
// a whole.
package scope

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Scope is a set of namespaces. The zero value is the whole cluster.
type Scope struct{ names []string }

// Of is the scope of those namespaces; the whole cluster when there are none.
func Of(namespaces ...string) Scope {
	names := slices.Clone(namespaces)
	slices.Sort(names)
	return Scope{names: slices.Compact(names)}
}

// Parse reads a list of namespaces, separated by commas. An empty one is no
// namespace at all, which means the whole cluster.
func Parse(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return nil, fmt.Errorf("%q is no name of a namespace: give names separated by commas, such as oncall,payments", name)
		}
		names = append(names, name)
	}
	return names, nil
}

// Whole tells whether this is the whole cluster.
func (s Scope) Whole() bool { return len(s.names) == 0 }

// Sees tells whether the operator looks at a namespace.
func (s Scope) Sees(namespace string) bool {
	return s.Whole() || slices.Contains(s.names, namespace)
}

// Unseen are those of the namespaces that the operator does not look at, in
// their order.
func (s Scope) Unseen(namespaces []string) []string {
	var out []string
	for _, namespace := range namespaces {
		if !s.Sees(namespace) {
			out = append(out, namespace)
		}
	}
	return out
}

// Cached is what a cache is to hold: nil means every namespace.
func (s Scope) Cached() map[string]cache.Config {
	if s.Whole() {
		return nil
	}
	out := make(map[string]cache.Config, len(s.names))
	for _, name := range s.names {
		out[name] = cache.Config{}
	}
	return out
}

// Namespace reads the metadata of a Namespace: from the cache, which watches
// them all, or live where no watch is allowed.
func (s Scope) Namespace(ctx context.Context, cached, live client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	from := live
	if s.Whole() {
		from = cached
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := from.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil, err
	}
	return namespace, nil
}

// Live is a reader that asks each namespace for its part of a list that is not
// bound to one of them. The kind must be namespaced.
func (s Scope) Live(live client.Reader) client.Reader {
	if s.Whole() {
		return live
	}
	return &byNamespace{Reader: live, names: s.names}
}

type byNamespace struct {
	client.Reader
	names []string
}

// List implements client.Reader. A limit is not for lists of several
// namespaces: what comes after it could not be asked for.
func (r *byNamespace) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(opts)
	if asked.Namespace != "" {
		return r.Reader.List(ctx, list, opts...)
	}
	if asked.Limit != 0 || asked.Continue != "" {
		return errors.New("list several namespaces: a limit is for one namespace only")
	}
	var all []runtime.Object
	for _, name := range r.names {
		part, ok := list.DeepCopyObject().(client.ObjectList)
		if !ok {
			return fmt.Errorf("list several namespaces: %T is no list", list)
		}
		if err := r.Reader.List(ctx, part, append(slices.Clone(opts), client.InNamespace(name))...); err != nil {
			return fmt.Errorf("list namespace %q: %w", name, err)
		}
		items, err := meta.ExtractList(part)
		if err != nil {
			return fmt.Errorf("list namespace %q: %w", name, err)
		}
		all = append(all, items...)
	}
	return meta.SetList(list, all)
}
