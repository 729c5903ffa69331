package world

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Call is one request to the world.
type Call struct {
	// Verb is get, list, create, update, patch, apply or delete.
	Verb string
	ID
	// Subresource is "status" or empty.
	Subresource string
	// Found counts the items of a list that was read; nil for everything else.
	Found func() int
}

// Writes tells whether the call can change something.
func (c Call) Writes() bool { return c.Verb != "get" && c.Verb != "list" }

// Around carries out a call, or does not. Its error is what the caller sees, but
// ErrEmpty.
type Around func(ctx context.Context, call Call, do func() error) error

// Client is the world as a client sees it.
type Client struct {
	client.Reader
	world  *World
	around Around
}

var _ client.Client = (*Client)(nil)

// Client returns a client that reads from a reader, such as a View, and writes
// to the world. around may be nil.
func (w *World) Client(reader client.Reader, around Around) *Client {
	if around == nil {
		around = func(_ context.Context, _ Call, do func() error) error { return do() }
	}
	return &Client{Reader: reader, world: w, around: around}
}

// Scheme implements client.Client.
func (c *Client) Scheme() *runtime.Scheme { return c.world.scheme }

// RESTMapper implements client.Client.
func (c *Client) RESTMapper() meta.RESTMapper { return c.world.mapper }

// GroupVersionKindFor implements client.Client.
func (c *Client) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, c.world.scheme)
}

// IsObjectNamespaced implements client.Client.
func (c *Client) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.world.scheme, c.world.mapper)
}

// Create implements client.Writer.
func (c *Client) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	options := (&client.CreateOptions{}).ApplyOptions(opts)
	return c.send(ctx, obj, "create", "", options.FieldManager, func(r write) (*unstructured.Unstructured, error) {
		if c.world.now(r.id) != nil {
			return nil, alreadyExists(r)
		}
		given, err := c.encode(obj)
		if err != nil {
			return nil, err
		}
		return c.world.create(r, func(empty *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if r.kind.status {
				delete(given.Object, "status")
			}
			given.SetResourceVersion("")
			named(given)
			rollsByDefault(given)
			return merged(r.kind.managers[""].UpdateNoErrors(empty, given, r.manager), nil)
		})
	})
}

// Update implements client.Writer.
func (c *Client) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	options := (&client.UpdateOptions{}).ApplyOptions(opts)
	return c.replace(ctx, obj, "", options.FieldManager)
}

func (c *Client) replace(ctx context.Context, obj client.Object, sub, manager string) error {
	return c.send(ctx, obj, "update", sub, manager, func(r write) (*unstructured.Unstructured, error) {
		given, err := c.encode(obj)
		if err != nil {
			return nil, err
		}
		return c.world.update(r, given)
	})
}

// Patch implements client.Writer.
func (c *Client) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	options := (&client.PatchOptions{}).ApplyOptions(opts)
	return c.patch(ctx, obj, patch, "", options.FieldManager)
}

func (c *Client) patch(ctx context.Context, obj client.Object, patch client.Patch, sub, manager string) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	return c.send(ctx, obj, "patch", sub, manager, func(r write) (*unstructured.Unstructured, error) {
		return c.world.patch(r, patch.Type(), data)
	})
}

// send carries out a write and leaves the answer in obj.
func (c *Client) send(ctx context.Context, obj client.Object, verb, sub, manager string, do func(write) (*unstructured.Unstructured, error)) error {
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	return c.exchange(ctx, gvk, client.ObjectKeyFromObject(obj), verb, sub, manager, false, do, func(answer *unstructured.Unstructured) error {
		return c.world.decode(answer, nil, obj)
	})
}

// exchange is the one way of a write into the world.
func (c *Client) exchange(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName, verb, sub, manager string, force bool,
	do func(write) (*unstructured.Unstructured, error), answered func(*unstructured.Unstructured) error,
) error {
	k, err := c.world.kindOf(gvk)
	if err != nil {
		return err
	}
	r := write{kind: k, id: ID{Kind: gvk.Kind, NamespacedName: key}, sub: sub, manager: manager, force: force}
	if r.manager == "" && verb != "apply" {
		r.manager = "test"
	}
	var answer *unstructured.Unstructured
	err = c.around(ctx, Call{Verb: verb, ID: r.id, Subresource: sub}, func() (err error) {
		c.world.mu.Lock()
		defer c.world.mu.Unlock()
		answer, err = do(r)
		return err
	})
	if err != nil || answer == nil {
		return err
	}
	return answered(answer)
}

// Apply implements client.Writer.
func (c *Client) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	options := (&client.ApplyOptions{}).ApplyOptions(opts)
	return c.apply(ctx, config, "", options.FieldManager, options.Force != nil && *options.Force)
}

func (c *Client) apply(ctx context.Context, config runtime.ApplyConfiguration, sub, manager string, force bool) error {
	raw, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("encode an apply configuration: %w", err)
	}
	intent := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, intent); err != nil {
		return fmt.Errorf("decode an apply configuration: %w", err)
	}
	key := types.NamespacedName{Namespace: intent.GetNamespace(), Name: intent.GetName()}
	return c.exchange(ctx, intent.GroupVersionKind(), key, "apply", sub, manager, force,
		func(r write) (*unstructured.Unstructured, error) { return c.world.apply(r, intent) },
		func(answer *unstructured.Unstructured) error {
			raw, err := json.Marshal(answer)
			if err != nil {
				return err
			}
			return json.Unmarshal(raw, config)
		})
}

// Delete implements client.Writer.
func (c *Client) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	return c.send(ctx, obj, "delete", "", "", func(r write) (*unstructured.Unstructured, error) {
		return nil, c.world.remove(r, *options)
	})
}

// DeleteAllOf implements client.Writer; nobody here uses it.
func (c *Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return fmt.Errorf("delete all of a kind: the world does not do that")
}

// Status implements client.Client.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.Client. The world has the status only.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return &statusClient{client: c, name: name}
}

type statusClient struct {
	client *Client
	name   string
}

// Get implements client.SubResourceReader; nobody here uses it.
func (s *statusClient) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return fmt.Errorf("get subresource %s: the world does not do that", s.name)
}

// Create implements client.SubResourceWriter; nobody here uses it.
func (s *statusClient) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return fmt.Errorf("create subresource %s: the world does not do that", s.name)
}

// Update implements client.SubResourceWriter.
func (s *statusClient) Update(ctx context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.client.replace(ctx, obj, s.name, "")
}

// Patch implements client.SubResourceWriter.
func (s *statusClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	options := &client.SubResourcePatchOptions{}
	options.ApplyOptions(opts)
	return s.client.patch(ctx, obj, patch, s.name, options.FieldManager)
}

// Apply implements client.SubResourceWriter.
func (s *statusClient) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	options := &client.SubResourceApplyOptions{}
	options.ApplyOpts(opts)
	return s.client.apply(ctx, config, s.name, options.FieldManager, options.Force != nil && *options.Force)
}

// encode is an object as it travels.
func (c *Client) encode(obj client.Object) (*unstructured.Unstructured, error) {
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", gvk.Kind, err)
	}
	out := &unstructured.Unstructured{Object: map[string]any{}}
	if err := json.Unmarshal(raw, &out.Object); err != nil {
		return nil, fmt.Errorf("decode a %s: %w", gvk.Kind, err)
	}
	out.Object, _ = whole(out.Object).(map[string]any)
	out.SetGroupVersionKind(gvk)
	return out, nil
}
