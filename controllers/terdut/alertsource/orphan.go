package alertsource

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

// disown takes the owner reference of a source off its webhook Secret, so that
// the garbage collector leaves the Secret of an integration that stays. Nothing
// but metadata is read: the keys are none of a deletion's business. A Secret
// that is gone already, or is somebody else's, is left so.
func (k *kind) disown(ctx context.Context, s *v1alpha1.TerdutAlertSource) error {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := types.NamespacedName{Namespace: s.Namespace, Name: recordedSecret(s)}
	switch err := k.Live.Get(ctx, key, secret); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read owners of Secret %s: %w", key, err)
	}
	base := secret.DeepCopy()
	secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == s.UID })
	if len(secret.OwnerReferences) == len(base.OwnerReferences) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	err := k.Client.Patch(ctx, secret, patch, client.FieldOwner(apply.FieldManager))
	switch {
	case apierrors.IsConflict(err):
		return &apply.LookAgain{Key: apply.Key{Version: "v1", Kind: "Secret", Namespace: key.Namespace, Name: key.Name}, Err: err}
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("take the owner off Secret %s: %w", key, err)
	}
	return nil
}
