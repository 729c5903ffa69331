package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// View is what a reader sees of the world: the present, or a past that it
// chooses for each kind.
type View struct {
	world *World
	// At tells the revision up to which a kind is seen; nil means the present.
	At func(kind string) int64
	// Hides tells whether a version is never seen; nil means that none is.
	Hides func(id ID, revision int64) bool
	// Turn changes the order in which a list is given; nil leaves it.
	Turn func(items []*unstructured.Unstructured)
	// Wrong is told of each object that is shown otherwise than it is; nil for
	// nobody.
	Wrong func(ID)
	// Filter tells whether an object is seen at all; nil means that all are.
	Filter func(*unstructured.Unstructured) bool
	// Around is asked about every read; nil lets all pass.
	Around Around
	// Shape changes the copy that a reader gets; nil changes nothing.
	Shape func(*unstructured.Unstructured)
}

var _ client.Reader = (*View)(nil)

// Live is a view of the present.
func (w *World) Live() *View { return &View{world: w} }

// IndexField implements client.FieldIndexer. An index that is there already is
// replaced: a new incarnation brings its own.
func (w *World) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	gvk, err := apiutil.GVKForObject(obj, w.scheme)
	if err != nil {
		return err
	}
	w.indices[gvk.Kind+" "+field] = extract
	return nil
}

// Get implements client.Reader.
func (v *View) Get(ctx context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(obj, v.world.scheme)
	if err != nil {
		return err
	}
	k, err := v.world.kindOf(gvk)
	if err != nil {
		return err
	}
	if !k.namespaced {
		key.Namespace = ""
	}
	id := ID{Kind: gvk.Kind, NamespacedName: key}
	return v.read(ctx, Call{Verb: "get", ID: id}, func() error {
		found := v.object(id)
		if found == nil {
			return k.notFound(key.Name)
		}
		return v.world.decode(found, v.Shape, obj)
	})
}

// List implements client.Reader. It knows namespaces, labels, and one field of
// an index.
func (v *View) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(list, v.world.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	if _, err = v.world.kindOf(gvk); err != nil {
		return err
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	id := ID{Kind: gvk.Kind}
	id.Namespace = options.Namespace
	call := Call{Verb: "list", ID: id, Found: func() int { return meta.LenList(list) }}
	err = v.read(ctx, call, func() error { return v.list(gvk, list, options) })
	if errors.Is(err, ErrEmpty) {
		return meta.SetList(list, nil)
	}
	return err
}

func (v *View) list(gvk schema.GroupVersionKind, list client.ObjectList, options *client.ListOptions) error {
	all := v.objects(gvk.Kind)
	if v.Turn != nil {
		v.Turn(all)
	}
	var found []runtime.Object
	for _, object := range all {
		switch {
		case options.Namespace != "" && object.GetNamespace() != options.Namespace,
			options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set(object.GetLabels())):
			continue
		}
		one, err := v.item(gvk, list)
		if err == nil {
			err = v.world.decode(object, v.Shape, one)
		}
		if err != nil {
			return err
		}
		if options.FieldSelector != nil {
			matches, err := v.indexed(gvk.Kind, one, options)
			if err != nil {
				return err
			}
			if !matches {
				continue
			}
		}
		found = append(found, one)
	}
	return meta.SetList(list, found)
}

// item makes an empty object for a list.
func (v *View) item(gvk schema.GroupVersionKind, list client.ObjectList) (client.Object, error) {
	switch list.(type) {
	case *unstructured.UnstructuredList:
		return &unstructured.Unstructured{}, nil
	case *metav1.PartialObjectMetadataList:
		return &metav1.PartialObjectMetadata{}, nil
	}
	made, err := v.world.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	one, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("list %s: a %T is no object", gvk.Kind, made)
	}
	return one, nil
}

func (v *View) indexed(kind string, one client.Object, options *client.ListOptions) (bool, error) {
	for _, wanted := range options.FieldSelector.Requirements() {
		if wanted.Field == metav1.ObjectNameField {
			if one.GetName() != wanted.Value {
				return false, nil
			}
			continue
		}
		extract, ok := v.world.indices[kind+" "+wanted.Field]
		if !ok {
			return false, fmt.Errorf("list %s: there is no index by %s", kind, wanted.Field)
		}
		if !slices.Contains(extract(one), wanted.Value) {
			return false, nil
		}
	}
	return true, nil
}

func (v *View) revision(kind string) int64 {
	if v.At == nil {
		return v.world.Revision()
	}
	return v.At(kind)
}

// object is an object as it is seen, or nil.
func (v *View) object(id ID) *unstructured.Unstructured {
	at := v.revision(id.Kind)
	v.world.mu.Lock()
	seen, is := v.world.past(id, at, v.Hides), v.world.now(id)
	v.world.mu.Unlock()
	if v.Wrong != nil && seen != is && (v.passes(seen) || v.passes(is)) {
		v.Wrong(id)
	}
	if !v.passes(seen) {
		return nil
	}
	return seen
}

// passes tells whether an object is there and gets through the filter.
func (v *View) passes(o *unstructured.Unstructured) bool {
	return o != nil && (v.Filter == nil || v.Filter(o))
}

// objects are all objects of a kind as they are seen.
func (v *View) objects(kind string) (out []*unstructured.Unstructured) {
	v.world.mu.Lock()
	ids := v.world.ids(kind)
	v.world.mu.Unlock()
	for _, id := range ids {
		if o := v.object(id); o != nil {
			out = append(out, o)
		}
	}
	return out
}

func (v *View) read(ctx context.Context, call Call, do func() error) error {
	if v.Around == nil {
		return do()
	}
	return v.Around(ctx, call, do)
}

func alreadyExists(r write) error {
	return apierrors.NewAlreadyExists(r.kind.groupResource(), r.id.Name)
}

// ErrEmpty of whoever is around a view is no error for who reads: the list that
// it gets is empty.
var ErrEmpty = errors.New("the list is empty")

// ErrUnreachable is what a request meets that does not arrive.
var ErrUnreachable = errors.New("dial tcp: connection refused")
