package status

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Into converts a status to its typed apply configuration: whole, without zero
// values that the status itself leaves out.
func Into[C any](from any) (*C, error) {
	raw, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	out := new(C)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("decode status into %T: %w", out, err)
	}
	return out, nil
}

// Apply writes a whole status. The configuration carries the UID and the
// resourceVersion of the object that it was computed from, so that an object
// which has changed meanwhile is refused with a 409, which means only: read
// again, compute again. The answer is left in config.
func Apply(ctx context.Context, c client.Client, owner string, config runtime.ApplyConfiguration) error {
	return c.Status().Apply(ctx, config, client.FieldOwner(owner), client.ForceOwnership)
}
