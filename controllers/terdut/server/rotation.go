package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

const (
	// defaultGrace is how long an exchanged key stays valid.
	defaultGrace = time.Hour
	// retryPause is the time between two tries to exchange a key that met no
	// clear answer.
	retryPause = time.Minute
)

// settle sees to a key that the server accepts: both Secrets agree on it, it is
// the operator's own, and it is not too old. Each step leaves a state from
// which the next pass, in this process or another, goes on. What fails here
// says so in a note: the key that there is stays good.
func (r *Reconciler) settle(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, c *credential, reason string) (*Identity, error) {
	if rejected, err := r.confirm(ctx, server, p, c); err != nil {
		return unanswered(server, err)
	} else if rejected != nil {
		c = rejected
	}
	if err := r.equalise(ctx, server, p, c); err != nil {
		return nil, err
	}
	r.accepted(server, p.main, c, reason, "")
	err := r.advance(ctx, server, p, c)
	note := ""
	if ending, ended := outcome.As(err); ended {
		note = ending.Message
		pause := retryPause
		if ending.Retry == outcome.RetryResync {
			pause = r.Resync
		}
		r.memory.of(server, func(e *remembered) { e.postponed = r.Now().Add(pause) })
	} else if err != nil {
		r.memory.doubt(server) // the next pass does not take it for settled because the key is good
		return nil, err
	} else {
		r.memory.of(server, func(e *remembered) { e.postponed = time.Time{} })
	}
	reason = reasonOf(c, reason)
	r.accepted(server, p.main, c, reason, note)
	return &Identity{Reason: reason, Note: note, Again: max(r.agenda(server, *c, p.next).Sub(r.Now()), time.Second)}, nil
}

// reasonOf is the reason of Bootstrapped for a key.
func reasonOf(c *credential, before string) string {
	switch {
	case !c.ours():
		return v1alpha1.ReasonSharedIdentity
	case before == v1alpha1.ReasonSharedIdentity:
		return v1alpha1.ReasonAdminKeyProvided
	}
	return before
}

// agenda is when something is to be done about the key, at the earliest.
func (r *Reconciler) agenda(server *v1alpha1.TerdutServer, c credential, next *corev1.Secret) time.Time {
	now := r.Now()
	first, postponed := now.Add(r.Resync*2), time.Time{}
	at := func(t time.Time) {
		if t.Before(first) {
			first = t
		}
	}
	r.memory.of(server, func(e *remembered) {
		postponed = e.postponed
		at(e.probe.due(server, r.Resync))
	})
	retiring := retiringKey(server)
	switch {
	case retiring != nil:
		at(retiring.RevokeAfter.Time)
		if next != nil && keyOf(next) != c.key {
			at(now)
		}
	case r.undecided(server): // it is the probe that is due
	case next != nil:
		at(now)
	default:
		at(r.wantedAt(server, &c))
	}
	if first.Before(postponed) {
		return postponed
	}
	return first
}

// wantedAt is when a new key is wanted; far away when never.
func (r *Reconciler) wantedAt(server *v1alpha1.TerdutServer, c *credential) time.Time {
	now := r.Now()
	accounts := r.capability(server, v1alpha1.CapabilityServiceAccounts) == v1alpha1.CapabilityPresent
	switch {
	case accounts && !c.account,
		!c.ours() && c.userID != 0,
		isExposed(server, c),
		askedFor(server) != "":
		return now
	}
	if spec := server.Spec.Credentials; spec != nil && spec.RotateAfter != "" && c.ours() {
		if age, err := time.ParseDuration(string(spec.RotateAfter)); err == nil {
			return c.issued.Add(age)
		}
	}
	return now.Add(r.Resync * 2)
}

// askedFor is the value of the rotate annotation, unless it was acted on.
func askedFor(server *v1alpha1.TerdutServer) string {
	token := v1alpha1.RotateToken(server)
	if s := server.Status.Credentials; s != nil && s.Rotated == token {
		return ""
	}
	return token
}

func retiringKey(server *v1alpha1.TerdutServer) *v1alpha1.RetiringKey {
	if server.Status.Credentials == nil {
		return nil
	}
	return server.Status.Credentials.Retiring
}

// grace is how long a key stays valid after it was exchanged. Before the
// identity was ever announced nobody can have used the key.
func grace(server *v1alpha1.TerdutServer) time.Duration {
	if server.Status.OperatorCredentialsSecretRef == nil {
		return 0
	}
	if spec := server.Spec.Credentials; spec != nil && spec.GracePeriod != nil {
		if span, err := time.ParseDuration(string(*spec.GracePeriod)); err == nil {
			return span
		}
	}
	return defaultGrace
}

// record changes what the status says of the keys.
func (r *Reconciler) record(ctx context.Context, server *v1alpha1.TerdutServer, change func(*v1alpha1.ServerCredentialsStatus)) error {
	next := *server.Status.DeepCopy()
	if next.Credentials == nil {
		next.Credentials = &v1alpha1.ServerCredentialsStatus{}
	}
	change(next.Credentials)
	if equality.Semantic.DeepEqual(next.Credentials, &v1alpha1.ServerCredentialsStatus{}) {
		next.Credentials = nil
	}
	return r.write(ctx, server, started(next))
}

// acknowledge notes that a key is new, whoever has asked for that.
func (r *Reconciler) acknowledge(ctx context.Context, server *v1alpha1.TerdutServer) error {
	token := askedFor(server)
	if token == "" {
		return nil
	}
	return r.record(ctx, server, func(s *v1alpha1.ServerCredentialsStatus) { s.Rotated = token })
}

// equalise makes the main Secret hold the key that is in use. This is the last
// step of a rotation as well as the repair after an interruption, or after
// somebody deleted a Secret: one recovery for all of them.
func (r *Reconciler) equalise(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, c *credential) error {
	if going(p.main) || going(p.next) || p.main == nil {
		if err := r.mayMake(ctx, server); err != nil {
			return err
		}
	}
	if err := r.retire(ctx, server, p, c); err != nil {
		return err
	}
	if going(p.main) {
		return r.replaceMain(ctx, server, p, c)
	}
	if err := r.keep(ctx, server, p, c); err != nil {
		return err
	}
	if going(p.next) {
		was := p.next.DeepCopy()
		if err := r.release(ctx, p.next); err != nil {
			return err
		}
		return lookAgainAt(was, "it was deleted")
	}
	return nil
}

// replaceMain is for a main Secret that somebody has deleted: its key goes into
// the next one before it is let go, and comes back from there.
func (r *Reconciler) replaceMain(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, c *credential) error {
	if !going(p.next) && keyOf(p.next) != c.key {
		intent := c.intent(server, v1alpha1.NextCredentialsSecretName(server.Name), nil)
		saved, err := r.Engine.ApplySecret(ctx, server, p.next, intent)
		if err != nil {
			return writeEnding(err, v1alpha1.ConditionBootstrapped)
		}
		p.next = saved
	}
	was := p.main.DeepCopy()
	if err := r.release(ctx, p.main); err != nil {
		return err
	}
	status.Emit(r.Recorder, server, drift("Secret "+was.Name, []apply.FieldDrift{{Path: apply.PathDeleted}}))
	return lookAgainAt(was, "it was deleted, and is made again")
}

// mayMake is nil while a Secret may be made for the server: it is there, as far
// as the API server knows, and so is its namespace.
func (r *Reconciler) mayMake(ctx context.Context, server *v1alpha1.TerdutServer) error {
	if err := r.proveLatest(ctx, server); err != nil {
		return err
	}
	terminating, err := r.terminating(ctx, server.Namespace)
	if err == nil && terminating {
		return settled(outcome.Waiting(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonProgressing,
			"the namespace is being deleted: nothing is made in it any more"))
	}
	return err
}

// retire records which key is about to be overwritten, so that it can be
// revoked later. A key that a person gave stays, and so does one whose ID
// nobody can tell.
func (r *Reconciler) retire(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, fresh *credential) error {
	old := credentialOf(p.main)
	if old.key == "" || old.key == fresh.key {
		return nil
	}
	token := ""
	if p.next != nil {
		token = p.next.Annotations[v1alpha1.AnnotationRotate]
	}
	keyID, err := r.retiredID(ctx, server, &old, fresh)
	if err != nil {
		return err
	}
	if before := retiringKey(server); before != nil && keyID != 0 && before.KeyID != keyID {
		r.unaccounted(server, before.KeyID, before.UserID)
	}
	span := grace(server)
	if span > 0 {
		span += time.Second - time.Nanosecond // a status keeps whole seconds, and it is not to be cut short
	}
	end := metav1.NewTime(r.Now().Add(span)).Rfc3339Copy()
	return r.record(ctx, server, func(s *v1alpha1.ServerCredentialsStatus) {
		if token != "" {
			s.Rotated = token
		}
		if keyID != 0 {
			retireAs(s, &old, keyID, end)
		}
	})
}

// retireAs writes down which key is to be revoked, and when. Who had a copy of
// it is known by its ID from now on.
func retireAs(s *v1alpha1.ServerCredentialsStatus, old *credential, keyID int64, end metav1.Time) {
	if old.keyID == 0 {
		s.Exposed = identified(s.Exposed, keyID)
	}
	// The Secret still has the old key. However often its write fails, the grace
	// begins when it has the new one.
	if s.Retiring == nil || s.Retiring.KeyID != keyID || s.Retiring.RevokeAfter.Before(&end) {
		s.Retiring = &v1alpha1.RetiringKey{KeyID: keyID, UserID: old.userID, ServiceAccount: old.account, RevokeAfter: end}
	}
}

// retiredID is the ID of a key that is exchanged; 0 when it is not to be
// revoked or cannot be.
func (r *Reconciler) retiredID(ctx context.Context, server *v1alpha1.TerdutServer, old, fresh *credential) (int64, error) {
	switch {
	case !old.ours() || old.isDraft():
		return 0, nil
	case old.keyID != 0 && old.userID != 0:
		return old.keyID, nil
	}
	api, err := r.Clients.Client(ctx, server, fresh.key)
	if err != nil {
		return 0, connect.Explain(err, v1alpha1.ConditionBootstrapped, "find the earlier key")
	}
	keys, err := r.keysOf(ctx, server, api, old.holder())
	switch {
	case errors.Is(err, terdutapi.ErrRouteMissing), errors.Is(err, terdutapi.ErrNotFound):
		keys = nil
	case err != nil:
		return 0, connect.Explain(err, v1alpha1.ConditionBootstrapped, "find the earlier key")
	}
	keyID := identifyKey(keys, old, []int64{fresh.keyID}, accountName(server))
	if keyID == 0 {
		r.unaccounted(server, 0, old.userID)
	}
	return keyID, nil
}

// unaccounted tells of a key that stays valid because it cannot be revoked.
func (r *Reconciler) unaccounted(server *v1alpha1.TerdutServer, keyID, userID int64) {
	which := "an earlier key of the operator's"
	if keyID != 0 {
		which = fmt.Sprintf("the operator's earlier key %d", keyID)
	}
	status.Emit(r.Recorder, server, status.Event{
		Warning: true, Reason: v1alpha1.EventKeyUnaccounted,
		Message: fmt.Sprintf("%s, of user %d, stays valid: the server cannot say which one it is, or cannot revoke it. Revoke it by hand", which, userID),
	})
}

// cachedKey is the key that everything else reads at this moment.
func (r *Reconciler) cachedKey(ctx context.Context, server *v1alpha1.TerdutServer) (string, error) {
	secret, err := r.Engine.CachedSecret(ctx, server.Namespace, v1alpha1.CredentialsSecretName(server.Name))
	return keyOf(secret), err
}
