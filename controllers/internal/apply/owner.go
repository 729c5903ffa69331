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
	gvk, err := apiutil.GVKForObject(p.owner, p.scheme)
	if err != nil {
		return fmt.Errorf("find the kind of %q: %w", client.ObjectKeyFromObject(p.owner), err)
	}
	key := KeyOf(gvk, p.owner)
	latest, ok := p.owner.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("read %s before its children are changed: a %T is no object", key, p.owner)
	}
	err = p.Engine.live.Get(ctx, key.objectKey(), latest)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s before its children are changed: %w", key, err)
	}
	if err != nil || latest.GetUID() != p.owner.GetUID() || latest.GetGeneration() != p.owner.GetGeneration() {
		return &LookAgain{Key: key, Err: errors.New("its spec has changed since it was read")}
	}
	p.proved = true
	return nil
}
