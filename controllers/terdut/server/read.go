package server

import (
	"context"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// read resolves everything that the children are rendered from. It writes
// nothing. What is missing ends the pass before anything is applied: with the
// strategy Recreate, a Deployment that refers to a missing Secret would end the
// pod that runs and start none.
func (r *Reconciler) read(ctx context.Context, server *v1alpha1.TerdutServer) (Inputs, error) {
	in := Inputs{Namespace: server.Namespace, Name: server.Name, UID: server.UID, Spec: *server.Spec.DeepCopy()}
	database, err := r.database(ctx, server)
	if err != nil {
		return in, err
	}
	in.Database = database
	for _, needed := range []struct {
		field string
		key   *SecretKey
	}{
		{"spec.notify.tokenSecretRef", tokenKey(&server.Spec)},
		{"spec.oidc.clientSecretRef", clientSecretKey(&server.Spec)},
	} {
		if err = r.prove(ctx, server, v1alpha1.ConditionAvailable, needed.field, needed.key); err != nil {
			return in, err
		}
	}
	return in, nil
}

// prove reads a Secret live and tells whether it has a value under the key. A
// nil key needs no proof.
func (r *Reconciler) prove(ctx context.Context, server *v1alpha1.TerdutServer, condition, field string, key *SecretKey) error {
	if key == nil {
		return nil
	}
	_, err := r.value(ctx, server, condition, field, key)
	return err
}

// value reads a key of a Secret that somebody else made. Only the ladder uses
// what it returns.
func (r *Reconciler) value(ctx context.Context, server *v1alpha1.TerdutServer, condition, field string, key *SecretKey) ([]byte, error) {
	secret, err := r.Engine.ReadSecret(ctx, server.Namespace, key.Secret)
	if err != nil {
		return nil, err
	}
	if secret == nil {
		return nil, settled(outcome.Waiting(condition, v1alpha1.ReasonSecretNotFound,
			"%s names Secret %q, which does not exist in namespace %q: create it with the key %q", field, key.Secret, server.Namespace, key.Key))
	}
	if len(secret.Data[key.Key]) == 0 {
		return nil, settled(outcome.Waiting(condition, v1alpha1.ReasonSecretKeyMissing,
			"%s names key %q of Secret %q, which is missing or empty: set it", field, key.Key, key.Secret))
	}
	return secret.Data[key.Key], nil
}

// settled waits for the next resync: what would help is watched.
func settled(e *outcome.Ending) *outcome.Ending {
	e.Retry = outcome.RetryResync
	return e
}
