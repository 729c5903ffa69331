package attach

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// SaveStatus writes a status in the middle of a pass: config is that of obj,
// with its UID and resourceVersion. The next write of the pass means obj as this
// one has left it. An object that has changed meanwhile is an apply.LookAgain.
func (d *Deps) SaveStatus(ctx context.Context, obj client.Object, config runtime.ApplyConfiguration) error {
	err := status.Apply(ctx, d.Client, apply.FieldManager, config)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return &apply.LookAgain{Key: apply.Key{Kind: fmt.Sprintf("%T", obj), Namespace: obj.GetNamespace(), Name: obj.GetName()}, Err: err}
	}
	if err != nil {
		return fmt.Errorf("write status of %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	version, err := status.ResourceVersion(config)
	if err != nil {
		return err
	}
	obj.SetResourceVersion(version)
	return nil
}

// DeleteSecret deletes a Secret, of exactly the version that was read. One that
// has changed meanwhile is an apply.LookAgain; one that is gone is done.
func (d *Deps) DeleteSecret(ctx context.Context, secret *corev1.Secret) error {
	err := d.Client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion})
	switch {
	case apierrors.IsConflict(err):
		return &apply.LookAgain{Key: apply.Key{Version: "v1", Kind: "Secret", Namespace: secret.Namespace, Name: secret.Name}, Err: err}
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("delete Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}
