package apply

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// ApplySecretAt is ApplySecret for a Secret in another namespace than what it belongs to, where no owner reference can
// reach. Whether live is ours cannot be told here: the caller must have made sure of it.
func (e *Engine) ApplySecretAt(ctx context.Context, namespace string, live *corev1.Secret, secret SecretIntent) (*corev1.Secret, error) {
	want, err := e.secretContent(namespace, nil, secret)
	if err != nil {
		return nil, err
	}
	if live == nil {
		made, createErr := e.applyAbsent(ctx, want)
		return asSecret(want.key, made, withoutValues(want.key, createErr, secret))
	}
	switch {
	case live.Namespace != namespace || live.Name != secret.Name:
		return nil, fmt.Errorf("apply %s: the Secret that was read is %s", want.key, secretKey(live.Namespace, live.Name))
	case live.DeletionTimestamp != nil:
		return nil, &LookAgain{Key: want.key, Err: errBeingDeleted}
	}
	return e.applyToSecret(ctx, want, live, secret)
}
