package status

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// decode is a configuration as it goes over the wire.
func decode(config runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	out := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &out.Object); err != nil {
		return nil, fmt.Errorf("decode status: %w", err)
	}
	return out, nil
}

// removeSurplus takes away what a status holds beyond what was applied. An
// apply leaves what other field managers have set, and whoever restores a status
// from a backup, or forges one, is one: what it has written there would be
// remembered for ever. A merge patch knows no managers.
func removeSurplus(ctx context.Context, c client.Client, owner string, want *unstructured.Unstructured, config runtime.ApplyConfiguration) error {
	got, err := decode(config)
	if err != nil {
		return err
	}
	had, _ := want.Object["status"].(map[string]any)
	has, _ := got.Object["status"].(map[string]any)
	removal := surplus(had, has)
	if len(removal) == 0 {
		return nil
	}
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": got.GetUID(), "resourceVersion": got.GetResourceVersion()},
		"status":   removal,
	})
	if err != nil {
		return fmt.Errorf("encode what is to go from a status: %w", err)
	}
	return patch(ctx, c, owner, got, client.RawPatch(types.MergePatchType, raw), config)
}

// replace puts a status in the place of the one that is there, of exactly that
// version: what others have put beside ours may make no valid status with it, and
// nothing could ever be written again. refusal is that of the apply; where this is
// refused as well, it was about the status itself.
func replace(
	ctx context.Context, c client.Client, owner string, want *unstructured.Unstructured, config runtime.ApplyConfiguration, refusal error,
) error {
	raw, err := json.Marshal([]map[string]any{
		// "add" replaces what exists. With "replace" another version is a 409.
		{"op": "add", "path": "/status", "value": want.Object["status"]},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": want.GetResourceVersion()},
	})
	if err != nil {
		return fmt.Errorf("encode a status: %w", err)
	}
	err = patch(ctx, c, owner, want.DeepCopy(), client.RawPatch(types.JSONPatchType, raw), config)
	if apierrors.IsInvalid(err) {
		return refusal
	}
	return err
}

// patch patches a status and leaves the answer in config.
func patch(ctx context.Context, c client.Client, owner string, object client.Object, with client.Patch, config runtime.ApplyConfiguration) error {
	if err := c.Status().Patch(ctx, object, with, client.FieldOwner(owner)); err != nil {
		return err
	}
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, config)
	}
	if err != nil {
		return fmt.Errorf("read the answer to a status: %w", err)
	}
	return nil
}

// surplus is the merge patch that makes has what want is, where has holds all
// of want: what is only in has goes.
func surplus(want, has map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range has {
		wanted, is := want[name]
		switch value := value.(type) {
		case map[string]any:
			inner, _ := wanted.(map[string]any)
			if !is {
				out[name] = nil
			} else if more := surplus(inner, value); len(more) > 0 {
				out[name] = more
			}
		case []any:
			list, _ := wanted.([]any)
			if !is {
				out[name] = nil
			} else if len(value) > len(list) {
				out[name] = list
			}
		default:
			if !is {
				out[name] = nil
			}
		}
	}
	return out
}
