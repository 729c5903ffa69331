package status

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
// again, compute again. What others have put beside it is taken away, and a status
// that is not valid beside that is put in its place whole. The answer is left in
// config.
func Apply(ctx context.Context, c client.Client, owner string, config runtime.ApplyConfiguration) error {
	want, err := decode(config)
	if err != nil {
		return err
	}
	err = c.Status().Apply(ctx, config, client.FieldOwner(owner), client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		return replace(ctx, c, owner, want, config, err)
	}
	if err != nil {
		return err
	}
	return removeSurplus(ctx, c, owner, want, config)
}

// ResourceVersion is the one that the answer of Apply has left in config. The
// generated configurations have a field for it and no method in common.
func ResourceVersion(config runtime.ApplyConfiguration) (string, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("encode the answer to a status: %w", err)
	}
	var answer metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", fmt.Errorf("read the answer to a status: %w", err)
	}
	return answer.ResourceVersion, nil
}
