package remote

import (
	"context"
	"errors"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var gr = schema.GroupResource{Resource: "configmaps"}

type modelStatus struct{ *resource }

func (*modelStatus) IsApplyConfiguration()         {}
func (s *modelStatus) GetResourceVersion() *string { return &s.ResourceVersion }

type silent struct{}

func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// modelClient is the API server: reads are never stale, writes are compared
// and swapped.
type modelClient struct {
	client.Client
	w    *world
	loop *Loop[*resource, *world, string]
}

func (c *modelClient) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	r, ok := c.w.resources[key.Name]
	if !ok {
		return apierrors.NewNotFound(gr, key.Name)
	}
	r.DeepCopyInto(into.(*resource))
	return nil
}

func (c *modelClient) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	list := into.(*corev1.ConfigMapList)
	for _, name := range sortedNames(c.w.resources) {
		r := c.w.resources[name]
		if o.FieldSelector != nil && !c.matches(r, o.FieldSelector.Requirements()[0]) {
			continue
		}
		list.Items = append(list.Items, *r.DeepCopy())
	}
	return nil
}

// matches looks a resource up, by its name or in an index.
func (c *modelClient) matches(r *resource, by fields.Requirement) bool {
	switch {
	case by.Field == metav1.ObjectNameField:
		return r.Name == by.Value
	case c.w.blind:
		return false
	case by.Field == HolderIndex:
		return slices.Contains(c.loop.holds(r), by.Value)
	case by.Field == claimIndex:
		return c.loop.ClaimKey(r) == by.Value
	default:
		return true
	}
}

// write changes a resource if it is still that version of it.
func (c *modelClient) write(what string, from *resource, change func(*resource)) error {
	return c.w.touch(what, func() error {
		r, ok := c.w.resources[from.Name]
		if !ok || r.UID != from.UID || r.ResourceVersion != from.ResourceVersion {
			return apierrors.NewConflict(gr, from.Name, errors.New("changed"))
		}
		change(r)
		c.w.version++
		r.ResourceVersion = strconv.Itoa(c.w.version)
		from.ResourceVersion = r.ResourceVersion
		if r.DeletionTimestamp != nil && len(r.Finalizers) == 0 {
			delete(c.w.resources, r.Name)
		}
		return nil
	})
}

func (c *modelClient) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	from := o.(*resource)
	return c.write("finalizers", from, func(r *resource) { r.Finalizers = slices.Clone(from.Finalizers) })
}

func (c *modelClient) Status() client.SubResourceWriter { return modelStatusWriter{c: c} }

type modelStatusWriter struct {
	client.SubResourceWriter
	c *modelClient
}

func (s modelStatusWriter) Apply(_ context.Context, config runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	from := config.(*modelStatus).resource
	return s.c.write("status", from, func(r *resource) {
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, statusAnnotation, from.Annotations[statusAnnotation])
	})
}
