package apply

import (
	"context"
	"errors"
	"fmt"

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

// proveLatest makes sure that an owner is there, with the spec that was read. Its deletion counts as a change of that.
func (e *Engine) proveLatest(ctx context.Context, owner client.Object) error {
	gvk, err := apiutil.GVKForObject(owner, e.scheme)
	if err != nil {
		return fmt.Errorf("find the kind of %q: %w", client.ObjectKeyFromObject(owner), err)
	}
	key := KeyOf(gvk, owner)
	latest, ok := owner.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("read %s before its children are changed: a %T is no object", key, owner)
	}
	err = e.live.Get(ctx, key.objectKey(), latest)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s before its children are changed: %w", key, err)
	}
	if err != nil || latest.GetUID() != owner.GetUID() || latest.GetGeneration() != owner.GetGeneration() {
		return &LookAgain{Key: key, Err: errors.New("its spec has changed since it was read")}
	}
	return nil
}
