package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// neverVersion is a resourceVersion that no object has: the first write to etcd makes revision 2. The API server compares
// it with that of an object that exists, and ignores it when there is none.
const neverVersion = "1"

// guard is what a request says about the object that it means.
type guard struct {
	uid             types.UID
	resourceVersion string
}

// get reads a child. It returns nil when a 404 says that there is none.
func (e *Engine) get(ctx context.Context, reader client.Reader, key Key) (client.Object, error) {
	object, err := e.newObject(key)
	if err != nil {
		return nil, err
	}
	err = reader.Get(ctx, key.objectKey(), object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return object, nil
}

// newObject returns an empty object of the type that the scheme has for the kind.
func (e *Engine) newObject(key Key) (client.Object, error) {
	if !e.scheme.Recognizes(key.gvk()) {
		content := &unstructured.Unstructured{}
		content.SetGroupVersionKind(key.gvk())
		return content, nil
	}
	made, err := e.scheme.New(key.gvk())
	if err != nil {
		return nil, fmt.Errorf("make an empty %s: %w", key.Kind, err)
	}
	object, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("make an empty %s: type %T is no object", key.Kind, made)
	}
	return object, nil
}

// applyAbsent makes an object that must not exist. When it does exist after all, the answer is a LookAgain, and the
// object is untouched.
func (e *Engine) applyAbsent(ctx context.Context, want *intent) (client.Object, error) {
	made, err := e.request(ctx, want, guard{resourceVersion: neverVersion}, false)
	if len(fieldConflicts(err)) > 0 {
		// Fields are merged before the version is compared. Only an object that exists has owners of fields.
		return nil, &LookAgain{Key: want.key, Err: err}
	}
	return made, requestError("create", want.key, err)
}

// outcome is what an apply to an existing object did.
type outcome struct {
	// object as it is then.
	object client.Object
	// forced are the fields that were taken from others, ceded those that were left to them.
	forced, ceded []FieldDrift
}

// applyOver applies to live, first without force. A conflict over fields ends in at most one more request.
func (e *Engine) applyOver(ctx context.Context, want *intent, live client.Object, g guard) (outcome, error) {
	applied, err := e.request(ctx, want, g, false)
	conflicts := fieldConflicts(err)
	if len(conflicts) == 0 {
		return outcome{object: applied}, requestError("apply", want.key, err)
	}
	wanted, err := want.fields.ToFieldSet()
	if err != nil {
		return outcome{}, fmt.Errorf("list the fields of %s: they do not fit the schema of its kind", want.key)
	}
	decided, err := e.decide(want, attributeConflicts(conflicts, wanted, live.GetManagedFields()))
	if err != nil {
		return outcome{}, err
	}
	// Force takes what is ours, and there is something to take. Otherwise a second conflict over fields is an error.
	applied, err = e.request(ctx, decided.intent, g, len(decided.forced) > 0)
	return outcome{object: applied, forced: decided.forced, ceded: decided.ceded}, requestError("apply", want.key, err)
}

// decision is how a conflict over fields ends.
type decision struct {
	// intent is what to apply now.
	intent *intent
	// forced are the fields taken from others by that, ceded those left to them.
	forced, ceded []FieldDrift
}

// decide settles a conflict over fields: yieldable ones are left out of the intent, all others are ours.
func (e *Engine) decide(want *intent, conflicts []conflict) (decision, error) {
	decided := decision{intent: want}
	var paths []fieldpath.Path
	for _, c := range conflicts {
		_, yields := e.unit(want.key.gvk(), c.path)
		if !yields || c.field.Manager == FieldManager || c.field.Manager == beforeFirstApply {
			decided.forced = append(decided.forced, c.field)
			continue
		}
		decided.ceded = append(decided.ceded, c.field)
		paths = append(paths, c.path)
	}
	if len(paths) == 0 {
		return decided, nil
	}
	less, err := e.without(want, paths)
	if err != nil {
		return decision{}, fmt.Errorf("apply %s: leave fields to others: %w", want.key, err)
	}
	decided.intent = less
	return decided, nil
}

// request sends one apply and returns the object as it is then.
func (e *Engine) request(ctx context.Context, want *intent, g guard, force bool) (client.Object, error) {
	content := want.content.DeepCopy()
	if g.uid != "" {
		content.SetUID(g.uid)
	}
	if g.resourceVersion != "" {
		content.SetResourceVersion(g.resourceVersion)
	}
	options := []client.ApplyOption{client.FieldOwner(FieldManager)}
	if force {
		options = append(options, client.ForceOwnership)
	}
	if err := e.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(content), options...); err != nil {
		return nil, err
	}
	return e.fromContent(content, want.key)
}

// fromContent turns an answer into the type that the scheme has for the kind.
func (e *Engine) fromContent(content *unstructured.Unstructured, key Key) (client.Object, error) {
	object, err := e.newObject(key)
	if err != nil {
		return nil, err
	}
	if _, same := object.(*unstructured.Unstructured); same {
		return content, nil
	}
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, object); err != nil {
		if isSecret(key.gvk()) {
			return nil, errors.New("the answer of the API server is no Secret")
		}
		return nil, fmt.Errorf("read the answer of the API server: %w", err)
	}
	return object, nil
}
