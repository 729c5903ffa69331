package apply

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// proveOwner makes sure, once in a pass and before anything is changed, that the owner asks for this now.
func (p *pass) proveOwner(ctx context.Context) error {
	if !p.proves || p.proved {
		return nil
	}
	if err := p.proveLatest(ctx, p.owner); err != nil {
		return err
	}
	p.proved = true
	return nil
}

// proveLatest makes sure that an owner is there, with the spec that was read. Its deletion counts as a change of that. It
// lists, as the right to get is not needed for anything else.
func (e *Engine) proveLatest(ctx context.Context, owner client.Object) error {
	gvk, err := apiutil.GVKForObject(owner, e.scheme)
	if err != nil {
		return fmt.Errorf("find the kind of %q: %w", client.ObjectKeyFromObject(owner), err)
	}
	key, list := KeyOf(gvk, owner), &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err = e.live.List(ctx, list, Itself(owner)); err != nil {
		return fmt.Errorf("read %s before its children are changed: %w", key, err)
	}
	for i := range list.Items {
		if latest := &list.Items[i]; latest.UID == owner.GetUID() && latest.Generation == owner.GetGeneration() {
			return nil
		}
	}
	return &LookAgain{Key: key, Err: errors.New("its spec has changed since it was read")}
}

// Itself narrows a list to one object. Whoever may list a kind and not get it reads an object of it in this way, and the API
// server looks up that one only, however many there are.
func Itself(object client.Object) client.ListOption {
	return &client.ListOptions{
		Namespace:     object.GetNamespace(),
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, object.GetName()),
	}
}
