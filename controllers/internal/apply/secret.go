package apply

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// SecretIntent is a Secret that holds keys, as it should be. It is in the namespace of its owner. What stands in an
// earlier intent and not in this one is removed; what other managers added stays.
type SecretIntent struct {
	Name                string
	Labels, Annotations map[string]string
	// Finalizers keep the Secret until somebody takes them off.
	Finalizers []string
	// Data are the plain values.
	Data map[string][]byte
}

// ReadSecret reads a Secret from the API server, never from the cache. It returns nil when a 404 proved it absent.
func (e *Engine) ReadSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return readSecret(ctx, e.live, namespace, name)
}

// CachedSecret reads a Secret from the cache, which may hold some Secrets only, and late. nil means that the cache shows
// none: whatever rests on that asks ReadSecret first.
func (e *Engine) CachedSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return readSecret(ctx, e.client, namespace, name)
}

func readSecret(ctx context.Context, from client.Reader, namespace, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", secretKey(namespace, name), err)
	}
	return secret, nil
}

// ApplySecret makes a Secret what it should be and returns it as it is then.
//
// live is what ReadSecret just returned. When it is nil, the Secret must not exist: if it does, the answer is a
// [LookAgain] and nothing was written. Otherwise the apply means exactly this version of it: if it has changed, the answer
// is a LookAgain as well. A Secret that owner does not control is [Refused], and one that somebody sealed is [Immutable].
// There is no request when what we own of live already is the intent. One that is made a second time is only made when
// the API server shows the owner as it was read: whoever owns nothing any more has its Secrets deleted again and again.
// Fields that others took are taken back; see ForeignFields. No error shows a value.
func (e *Engine) ApplySecret(ctx context.Context, owner client.Object, live *corev1.Secret, secret SecretIntent) (*corev1.Secret, error) {
	key := secretKey(owner.GetNamespace(), secret.Name)
	if owner.GetDeletionTimestamp() != nil {
		return nil, fmt.Errorf("apply %s: %w", key, ErrTerminating)
	}
	want, err := e.secretIntent(owner, secret)
	if err != nil {
		return nil, err
	}
	if live == nil {
		if e.memory.madeBefore(owner.GetUID(), secret.Name) {
			if err = e.proveLatest(ctx, owner); err != nil {
				return nil, err
			}
		}
		made, createErr := e.applyAbsent(ctx, want)
		return asSecret(key, made, withoutValues(key, createErr, secret))
	}
	switch {
	case live.Namespace != key.Namespace || live.Name != key.Name:
		return nil, fmt.Errorf("apply %s: the Secret that was read is %s", key, secretKey(live.Namespace, live.Name))
	case !metav1.IsControlledBy(live, owner):
		return nil, &Refused{Key: key, Holder: holder(live)}
	case live.DeletionTimestamp != nil:
		return nil, &LookAgain{Key: key, Err: errBeingDeleted}
	}
	return e.applyToSecret(ctx, want, live, secret)
}

// applyToSecret applies to a Secret of ours, of exactly the version that was read.
func (e *Engine) applyToSecret(ctx context.Context, want *intent, live *corev1.Secret, secret SecretIntent) (*corev1.Secret, error) {
	key := want.key
	// Only we make such a Secret, and by an apply.
	owned, _, err := e.reown(ctx, want, live, true)
	if err != nil {
		return nil, withoutValues(key, err, secret)
	}
	diff, err := e.compare(owned, want)
	if err != nil {
		return nil, err
	}
	if diff.same {
		return asSecret(key, owned, nil)
	}
	if field, differs := immutable(diff, want); differs {
		return nil, &Immutable{Key: key, Field: field}
	}
	done, err := e.applyOver(ctx, want, owned, guard{uid: owned.GetUID(), resourceVersion: owned.GetResourceVersion()})
	return asSecret(key, done.object, withoutValues(key, err, secret))
}

// ForeignFields returns the fields of the intent that we do not own in live, and who has them now. That is all that drift
// of such a Secret means: values are not compared. If its managedFields were cleared, only what is missing is returned.
func (e *Engine) ForeignFields(owner client.Object, live *corev1.Secret, secret SecretIntent) ([]FieldDrift, error) {
	want, err := e.secretIntent(owner, secret)
	if err != nil {
		return nil, err
	}
	wanted, err := want.fields.ToFieldSet()
	if err != nil {
		return nil, fmt.Errorf("list the fields of %s: they do not fit the schema", want.key)
	}
	seen, err := e.observe(live, want.key)
	if err != nil {
		return nil, err
	}
	paths := readable(wanted.Difference(seen.owned))
	if !hasOwn(live.GetManagedFields()) {
		paths = slices.DeleteFunc(paths, func(path fieldpath.Path) bool {
			_, exists := valueAt(seen.live.AsValue(), path)
			return exists
		})
	}
	if len(paths) == 0 {
		return nil, nil
	}
	return attribute(difference{paths: paths}, live.GetManagedFields()), nil
}

func (e *Engine) secretIntent(owner client.Object, want SecretIntent) (*intent, error) {
	reference, err := e.OwnerReference(owner)
	if err != nil {
		return nil, fmt.Errorf("intent of %s: %w", secretKey(owner.GetNamespace(), want.Name), err)
	}
	ownerReference, err := runtime.DefaultUnstructuredConverter.ToUnstructured(reference)
	if err != nil {
		return nil, fmt.Errorf("intent of %s: encode the owner reference: %w", secretKey(owner.GetNamespace(), want.Name), err)
	}
	return e.secretContent(owner.GetNamespace(), []any{ownerReference}, want)
}

// secretContent is the intent of a Secret. Without owners it has no owner references.
func (e *Engine) secretContent(namespace string, owners []any, want SecretIntent) (*intent, error) {
	metadata := map[string]any{"name": want.Name, "namespace": namespace}
	if len(owners) > 0 {
		metadata["ownerReferences"] = owners
	}
	content := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
	if len(want.Finalizers) > 0 {
		finalizers := make([]any, 0, len(want.Finalizers))
		for _, finalizer := range want.Finalizers {
			finalizers = append(finalizers, finalizer)
		}
		metadata["finalizers"] = finalizers
	}
	setMap(metadata, "labels", want.Labels, func(s string) string { return s })
	setMap(metadata, "annotations", want.Annotations, func(s string) string { return s })
	setMap(content, "data", want.Data, base64.StdEncoding.EncodeToString)
	return e.checkIntent(&unstructured.Unstructured{Object: content})
}

// setMap sets a field to a map, unless the map is empty: that would be a field of ours with nothing in it.
func setMap[V any](content map[string]any, field string, values map[string]V, encode func(V) string) {
	if len(values) == 0 {
		return
	}
	encoded := make(map[string]any, len(values))
	for name, v := range values {
		encoded[name] = encode(v)
	}
	content[field] = encoded
}

func secretKey(namespace, name string) Key {
	return Key{Version: "v1", Kind: "Secret", Namespace: namespace, Name: name}
}

func asSecret(key Key, object client.Object, err error) (*corev1.Secret, error) {
	if err != nil {
		return nil, err
	}
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return nil, fmt.Errorf("apply %s: the answer is a %T: core/v1 is missing in the scheme", key, object)
	}
	return secret, nil
}

// withoutValues takes the message out of an error that quotes a value of the Secret, as an admission webhook may do. What
// kind of error it is stays.
func withoutValues(key Key, err error, secret SecretIntent) error {
	if err == nil || !quotes(err.Error(), secret.Data) {
		return err
	}
	silent := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Message: "the message of the API server quotes a value and is not shown",
	}}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		silent.ErrStatus.Code, silent.ErrStatus.Reason = status.Status().Code, status.Status().Reason
	}
	if IsLookAgain(err) {
		return &LookAgain{Key: key, Err: silent}
	}
	return fmt.Errorf("apply %s: %w", key, silent)
}

// shortestSecret is the length in bytes below which a value is no secret: it would be found in every text.
const shortestSecret = 4

func quotes(text string, data map[string][]byte) bool {
	for _, v := range data {
		if len(v) < shortestSecret {
			continue
		}
		if strings.Contains(text, string(v)) || strings.Contains(text, base64.StdEncoding.EncodeToString(v)) {
			return true
		}
	}
	return false
}
