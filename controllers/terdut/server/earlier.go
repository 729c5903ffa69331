package server

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// proveLatest makes sure that a status is not from before the last exchange, as
// a cache that lags shows it: what it asks for may have been done.
func (r *Reconciler) proveLatest(ctx context.Context, server *v1alpha1.TerdutServer) error {
	key, live := client.ObjectKeyFromObject(server), &v1alpha1.TerdutServer{}
	err := r.Live.Get(ctx, key, live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read TerdutServer %s before a key of it is made, exchanged or revoked: %w", key, err)
	}
	if err != nil || live.UID != server.UID || live.ResourceVersion != server.ResourceVersion {
		return &apply.LookAgain{
			Key: apply.KeyOf(v1alpha1.SchemeGroupVersion.WithKind("TerdutServer"), server),
			Err: errors.New("it has changed since it was read"),
		}
	}
	return nil
}

// sweepTwice looks for keys that an earlier process left behind: at once, and
// once more when a call that it had begun, unaware of having lost its lease, has
// long ended.
func (r *Reconciler) sweepTwice(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, c *credential) error {
	due := false
	r.memory.of(server, func(e *remembered) {
		due = e.swept.IsZero() || !e.sweptAgain && r.Now().Sub(e.swept) >= max(r.recheck(), askLimit)
	})
	if !due || c.userID == 0 || !c.ours() {
		return nil
	}
	if err := r.sweep(ctx, server, api, c.holder()); err != nil && !errors.Is(err, errNoList) {
		return err
	}
	r.memory.of(server, func(e *remembered) {
		if e.sweptAgain = !e.swept.IsZero(); !e.sweptAgain {
			e.swept = r.Now()
		}
	})
	return nil
}
