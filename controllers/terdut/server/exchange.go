package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// advance does what is due about a key that both the server and the main Secret
// have. When it exchanges the key, c is the new one afterwards.
func (r *Reconciler) advance(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, c *credential) error {
	api, err := r.open(ctx, server, c.key)
	if err != nil {
		return err
	}
	if err = r.discover(ctx, server, api); err != nil {
		return err
	}
	if waits, revokeErr := r.revokeDue(ctx, server, api, p, c); waits || revokeErr != nil {
		return revokeErr
	}
	if err = r.sweepTwice(ctx, server, api, c); err != nil {
		return err
	}
	if keyOf(p.next) == c.key {
		// It has done its work.
		if err = r.dropNext(ctx, p); err != nil {
			return err
		}
	}
	if r.wantedAt(server, c).After(r.Now()) {
		return r.dropUnwanted(ctx, server, api, p, c)
	}
	if r.undecided(server) {
		return nil // the next probe is soon
	}
	return r.exchange(ctx, server, api, p, c)
}

// exchange makes a new key and puts it in the place of c.
func (r *Reconciler) exchange(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, p *pair, c *credential) error {
	if err := r.proveLatest(ctx, server); err != nil {
		return err
	}
	fresh, err := r.mint(ctx, server, api, p, c)
	if err != nil {
		return err
	}
	if err = r.equalise(ctx, server, p, fresh); err != nil {
		return err
	}
	*c = *fresh
	status.Emit(r.Recorder, server, status.Event{
		Reason:  v1alpha1.EventRotated,
		Message: fmt.Sprintf("exchanged the operator's key: Secret %q holds a new one", p.main.Name),
	})
	r.accepted(server, p.main, c, reasonBefore(server, c), "")
	if api, err = r.open(ctx, server, c.key); err != nil {
		return err
	}
	if waits, revokeErr := r.revokeDue(ctx, server, api, p, c); waits || revokeErr != nil {
		return revokeErr
	}
	return r.dropNext(ctx, p)
}

// open is the session with a key, for finding and proving one.
func (r *Reconciler) open(ctx context.Context, server *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	api, err := r.Clients.Client(ctx, server, key)
	if err != nil {
		return nil, connect.Explain(err, v1alpha1.ConditionBootstrapped, "open the session")
	}
	return api, nil
}

// dropNext deletes the next Secret, if there is one.
func (r *Reconciler) dropNext(ctx context.Context, p *pair) error {
	if p.next == nil {
		return nil
	}
	if err := r.drop(ctx, p.next); err != nil {
		return err
	}
	p.next = nil
	return nil
}

// revokeDue revokes the key that was exchanged, once every Secret has the new
// one and its time has come. It tells whether that is still to be waited for.
func (r *Reconciler) revokeDue(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, p *pair, c *credential) (waits bool, err error) {
	retiring := retiringKey(server)
	if retiring == nil {
		return false, nil
	}
	missing, err := r.publishMirrors(ctx, server, c)
	if err != nil {
		return true, err
	}
	if len(missing) > 0 {
		return true, outcome.Waiting(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonApplyFailed,
			"the earlier key stays valid until these Secrets can be written: %s", strings.Join(missing, ", "))
	}
	if r.Now().Before(retiring.RevokeAfter.Time) {
		return true, nil
	}
	seen, err := r.cachedKey(ctx, server)
	if err != nil {
		return true, err
	}
	if seen != c.key {
		return true, lookAgainAt(p.main, "the cache still has the earlier key")
	}
	if retiring.KeyID != c.keyID {
		if err = r.revokeRetiring(ctx, server, api, retiring); err != nil {
			return true, err
		}
	}
	return false, r.record(ctx, server, func(s *v1alpha1.ServerCredentialsStatus) { s.Retiring = nil })
}

func (r *Reconciler) revokeRetiring(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, retiring *v1alpha1.RetiringKey) error {
	err := revoke(ctx, api, holder{id: retiring.UserID, account: retiring.ServiceAccount}, retiring.KeyID)
	switch {
	case errors.Is(err, terdutapi.ErrRouteMissing), errors.Is(err, terdutapi.ErrForbidden):
		r.unaccounted(server, retiring.KeyID, retiring.UserID)
	case err != nil:
		return connect.Explain(err, v1alpha1.ConditionBootstrapped, "revoke the earlier key")
	default:
		status.Emit(r.Recorder, server, status.Event{
			Reason:  v1alpha1.EventRevoked,
			Message: fmt.Sprintf("revoked key %d, which was exchanged", retiring.KeyID),
		})
		return r.record(ctx, server, func(s *v1alpha1.ServerCredentialsStatus) { s.Exposed = unexposed(s.Exposed, retiring.KeyID) })
	}
	return nil
}

// dropUnwanted ends an exchange that nobody wants any more.
func (r *Reconciler) dropUnwanted(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, p *pair, c *credential) error {
	if p.next == nil {
		return nil
	}
	draft := credentialOf(p.next)
	for _, of := range []holder{draft.holder(), c.holder()} {
		if of.id == 0 {
			continue
		}
		if err := r.sweep(ctx, server, api, of); err != nil && !errors.Is(err, errNoList) {
			return err
		}
	}
	return r.dropNext(ctx, p)
}

// mint makes a new key, proves it, and writes it to the next Secret.
func (r *Reconciler) mint(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, p *pair, c *credential) (*credential, error) {
	to, err := r.target(ctx, server, api, c)
	if err != nil {
		return nil, err
	}
	if to == nil {
		return nil, settled(outcome.Waiting(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonSharedIdentity,
			"it cannot be exchanged: the server does not say whose key it is"))
	}
	if (p.next != nil || to.account) && to.id != 0 {
		if err = r.sweepBefore(ctx, server, api, *to, p.next != nil); err != nil {
			return nil, err
		}
	}
	draft := r.draft(server, *to, c)
	if err = r.writeNext(ctx, server, p, &draft); err != nil {
		return nil, err
	}
	fresh, err := mintFor(ctx, server, api, *to, draft)
	if err != nil {
		return nil, r.notMinted(ctx, server, p, err)
	}
	r.learnChosen(server, draft.key, fresh.key)
	if err = r.proveKey(ctx, server, api, fresh); err != nil {
		return nil, r.reject(ctx, server, api, p, fresh, err)
	}
	return fresh, r.writeNext(ctx, server, p, fresh)
}

// draft is a key that is about to be made.
func (r *Reconciler) draft(server *v1alpha1.TerdutServer, to holder, before *credential) credential {
	draft := credential{
		key: r.chooseKey(server), userID: to.id, account: to.account, source: sourceMinted, origin: before.origin, issued: r.Now().Truncate(time.Second),
		name: accountName(server) + ":" + connect.RandomHex(4),
	}
	if to.account && to.id == 0 {
		draft.name = "" // the server names the first key of an account
	}
	return draft
}

// notMinted sorts why there is no new key: a clear no ends the exchange.
func (r *Reconciler) notMinted(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, err error) error {
	explained := connect.Explain(err, v1alpha1.ConditionBootstrapped, "make a new key")
	for _, no := range []error{terdutapi.ErrRouteMissing, terdutapi.ErrForbidden, terdutapi.ErrInvalid} {
		if errors.Is(err, no) {
			return r.giveUp(ctx, server, p, explained)
		}
	}
	return explained
}

// sweepBefore revokes what an interrupted exchange may have made.
func (r *Reconciler) sweepBefore(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, to holder, interrupted bool) error {
	err := r.sweep(ctx, server, api, to)
	if errors.Is(err, errNoList) {
		if interrupted && r.capability(server, v1alpha1.CapabilityChosenKeys) != v1alpha1.CapabilityPresent {
			r.unaccounted(server, 0, to.id)
		}
		return nil
	}
	return err
}

// writeNext writes a key, or the intent to get one, to the next Secret, with
// the token that has asked for it.
func (r *Reconciler) writeNext(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, c *credential) error {
	more := map[string]string{}
	if token := askedFor(server); token != "" {
		more[v1alpha1.AnnotationRotate] = token
	}
	intent := c.intent(server, v1alpha1.NextCredentialsSecretName(server.Name), more)
	written, err := r.Engine.ApplySecret(ctx, server, p.next, intent)
	if err != nil {
		return writeEnding(err, v1alpha1.ConditionBootstrapped)
	}
	p.next = written
	return nil
}

// reject revokes a new key that cannot do its work; one of which that is not
// clear is kept and tried again.
func (r *Reconciler) reject(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, p *pair, fresh *credential, why error) error {
	if !isUnfit(why) {
		if writeErr := r.writeNext(ctx, server, p, fresh); writeErr != nil {
			return writeErr
		}
		return why
	}
	if err := revoke(ctx, api, fresh.holder(), fresh.keyID); err != nil {
		return connect.Explain(err, v1alpha1.ConditionBootstrapped, "revoke a new key that is of no use")
	}
	return r.giveUp(ctx, server, p, why)
}

// giveUp ends an exchange that cannot succeed now. It is tried again at the next
// resync.
func (r *Reconciler) giveUp(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, why error) error {
	if err := r.dropNext(ctx, p); err != nil {
		return err
	}
	ending, ended := outcome.As(why)
	if !ended {
		return why
	}
	status.Emit(r.Recorder, server, status.Event{
		Warning: true, Reason: v1alpha1.EventRotationFailed, Message: "the operator's key was not exchanged: " + ending.Message,
	})
	return settled(ending)
}

// confirm proves a key that an interrupted exchange has left in the next Secret
// before the one in the main Secret, if that is good, is given up for it. When
// it is of no use, the one in the main Secret is returned.
func (r *Reconciler) confirm(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, c *credential) (*credential, error) {
	old := r.given(server, p.main)
	if p.next == nil || keyOf(p.next) != c.key || old.key == "" || old.key == c.key {
		return nil, nil
	}
	me, err := r.accepts(ctx, server, old.key)
	if errors.Is(err, errNotAccepted) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	api, err := r.open(ctx, server, old.key)
	if err != nil {
		return nil, err
	}
	err = r.proveKey(ctx, server, api, c)
	if !isUnfit(err) {
		return nil, err
	}
	if c.keyID == 0 {
		// Nobody can tell which one to revoke: the next sweep may.
		err = r.dropNext(ctx, p)
	} else {
		err = r.reject(ctx, server, api, p, c, err)
	}
	if p.next != nil {
		return nil, err
	}
	// That the exchange has failed was told, and is no trouble of the old key's.
	return old.of(server, me), nil
}
