// Package crds brings custom resource definitions up to the operator's own
// version. Helm installs them once and never upgrades them; an operator that
// runs on old ones has its new fields pruned without a word.
package crds

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/mod/semver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/config/crd"
)

const (
	// owner is the field manager of the definitions.
	owner = "terdut-operator"
	// attempts are how often one definition is read again because somebody else
	// wrote it in between, such as another replica.
	attempts = 5
	// established bounds the wait for a definition to be served.
	established = time.Minute
	poll        = 200 * time.Millisecond
)

// Upgrade applies the definitions, each by its name, and returns when all of
// them are served. One of a newer version than the given one is left as it is,
// and so is one that is being deleted: it waits for its objects, and these may
// wait for the operator.
//
// The operator needs get, patch and create on the definitions' names.
func Upgrade(ctx context.Context, c client.Client, definitions []*unstructured.Unstructured) error {
	for _, definition := range definitions {
		if err := upgrade(ctx, c, definition); err != nil {
			return fmt.Errorf("upgrade custom resource definition %s (without --crds-upgrade the operator leaves them alone): %w",
				definition.GetName(), err)
		}
	}
	return nil
}

func upgrade(ctx context.Context, c client.Client, definition *unstructured.Unstructured) error {
	for attempt := 1; ; attempt++ {
		err := once(ctx, c, definition)
		if attempt == attempts || !apierrors.IsConflict(err) {
			return err
		}
	}
}

// once reads, decides and applies. The apply carries the version that was read:
// whoever was faster may have been newer.
func once(ctx context.Context, c client.Client, definition *unstructured.Unstructured) error {
	log := logr.FromContextOrDiscard(ctx).WithValues("definition", definition.GetName(), "version", version(definition))
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(definition.GroupVersionKind())
	err := c.Get(ctx, client.ObjectKeyFromObject(definition), there)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("look at it: %w", err)
	}
	wanted := definition.DeepCopy()
	switch {
	case err != nil:
		// No object has this version: see docs/decisions/0011-guarded-create.md.
		wanted.SetResourceVersion("1")
	case there.GetDeletionTimestamp() != nil:
		log.Info("left a custom resource definition that is being deleted")
		return nil
	case semver.Compare(version(there), version(definition)) > 0:
		log.Info("left a custom resource definition of a newer version", "there", version(there))
		return nil
	default:
		wanted.SetResourceVersion(there.GetResourceVersion())
		wanted.SetUID(there.GetUID())
	}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(owner), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply it: %w", err)
	}
	if there.GetResourceVersion() != wanted.GetResourceVersion() {
		log.Info("applied a custom resource definition", "before", version(there))
	}
	return served(ctx, c, wanted)
}

// served waits until the API server knows the definition.
func served(ctx context.Context, c client.Client, definition *unstructured.Unstructured) error {
	there := definition.DeepCopy()
	err := wait.PollUntilContextTimeout(ctx, poll, established, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(definition), there); err != nil {
			return false, err
		}
		// Just made, it has null where the list will be, which reads as an error.
		conditions, _, _ := unstructured.NestedSlice(there.Object, "status", "conditions")
		for _, condition := range conditions {
			if one, ok := condition.(map[string]any); ok && one["type"] == "Established" && one["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait until it is served: %w", err)
	}
	return nil
}

// version is empty where there is none: that is older than any.
func version(definition *unstructured.Unstructured) string {
	return definition.GetAnnotations()[crd.VersionAnnotation]
}
