package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

const (
	// publishLimit bounds the tries of one pass to write a key.
	publishLimit = 10 * time.Second
	publishTries = 3
	// shutdownLimit bounds the tries to write what is still held at the end of
	// the process, and shutdownPause is the time between two of them.
	shutdownLimit = 25 * time.Second
	shutdownPause = 250 * time.Millisecond
)

// Identity is the operator's key on a server, without the key.
type Identity struct {
	// Reason of the condition Bootstrapped.
	Reason string
	// Note is what else is to be said about the key; empty when there is
	// nothing.
	Note string
	// Again is when to look at the key again, if that is before the resync; 0
	// when it is not.
	Again time.Duration
}

// known tells from the cache alone whether the key that is there needs no
// question: it was accepted within the last resync and nothing is to be done
// about it, or there is nobody to ask. Of a server that is known not to answer
// the question brings out why.
func (r *Reconciler) known(ctx context.Context, server *v1alpha1.TerdutServer, serving bool) (*Identity, error) {
	main, err := r.Engine.CachedSecret(ctx, server.Namespace, v1alpha1.CredentialsSecretName(server.Name))
	if err != nil || main == nil || !metav1.IsControlledBy(main, server) || keyOf(main) == "" {
		return nil, err
	}
	last := r.memory.accepted(server)
	same := last.uid == main.UID && last.resourceVersion == main.ResourceVersion
	moved := server.Spec.External != nil && last.generation != server.Generation
	switch {
	case !serving && same:
		return &Identity{Reason: last.reason, Note: last.note}, nil
	case !serving && meta.IsStatusConditionTrue(server.Status.Conditions, v1alpha1.ConditionBootstrapped):
		return &Identity{Reason: reasonBefore(server, &last.credential)}, nil
	case !serving, !same, moved, going(main):
		return nil, nil
	}
	return r.unasked(ctx, server, main, &last)
}

// unasked is the identity by a key that was accepted, unless it is time to ask
// again or to do something about it.
func (r *Reconciler) unasked(ctx context.Context, server *v1alpha1.TerdutServer, main *corev1.Secret, last *accepted) (*Identity, error) {
	next, err := r.Engine.CachedSecret(ctx, server.Namespace, v1alpha1.NextCredentialsSecretName(server.Name))
	if err != nil || going(next) {
		return nil, err
	}
	again := r.agenda(server, credentialOf(main), next).Sub(r.Now())
	if again <= 0 || r.Now().Sub(last.at) >= r.recheck() || asksAnew(server) || r.Clients.Silent(server.UID) {
		return nil, nil
	}
	return &Identity{Reason: last.reason, Note: last.note, Again: again}, nil
}

// candidates are the keys that may be the operator's: the one that is about to
// be, the one that is, and the one that was there before somebody deleted or
// changed it.
func (r *Reconciler) candidates(server *v1alpha1.TerdutServer, p *pair) []credential {
	var found []credential
	for _, c := range []credential{credentialOf(p.next), r.given(server, p.main), r.memory.accepted(server).credential} {
		known := slices.ContainsFunc(found, func(other credential) bool { return other.key == c.key })
		if c.key != "" && !known {
			found = append(found, c)
		}
	}
	return found
}

// given is the credential in the Secret. A key that somebody has put there is
// not ours, whatever the annotations of the one before say.
func (r *Reconciler) given(server *v1alpha1.TerdutServer, secret *corev1.Secret) credential {
	c := credentialOf(secret)
	last := r.memory.accepted(server).credential
	if last.key == "" || c.key == last.key || c.key == "" {
		return c
	}
	foreign, err := r.Engine.ForeignFields(server, secret, c.intent(server, secret.Name, nil))
	if err == nil && slices.ContainsFunc(foreign, func(f apply.FieldDrift) bool { return isKeyPath(f.Path) }) {
		return credential{key: c.key, source: sourceProvided, issued: r.Now()}
	}
	return c
}

// current is the first candidate that the server accepts, with what the server
// tells about it; nil when it accepts none.
func (r *Reconciler) current(ctx context.Context, server *v1alpha1.TerdutServer, p *pair) (*credential, error) {
	for _, c := range r.candidates(server, p) {
		me, err := r.accepts(ctx, server, c.key)
		switch {
		case err == nil:
			return c.of(server, me), nil
		case !errors.Is(err, errNotAccepted):
			return nil, err
		}
	}
	return nil, nil
}

// keep makes the Secret what it should be: it may have been changed or deleted.
func (r *Reconciler) keep(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, c *credential) error {
	intent := c.intent(server, v1alpha1.CredentialsSecretName(server.Name), nil)
	foreign := []apply.FieldDrift{{Path: apply.PathDeleted}}
	last := r.memory.accepted(server)
	if p.main != nil {
		var err error
		if foreign, err = r.Engine.ForeignFields(server, p.main, intent); err != nil {
			return err
		}
		if *c != last.credential {
			// What we say anew is nobody's drift.
			foreign = slices.DeleteFunc(foreign, func(f apply.FieldDrift) bool { return f.Manager == "" })
		}
	}
	restored := drift("Secret "+intent.Name, foreign)
	if c.key == last.key && keyOf(p.main) != c.key && keyOf(p.next) != c.key {
		r.memory.hold(server, &answer{server: server.DeepCopy(), credential: *c, reason: last.reason, event: restored})
	}
	kept, err := r.Engine.ApplySecret(ctx, server, p.main, intent)
	if err != nil {
		return writeEnding(err, v1alpha1.ConditionBootstrapped)
	}
	r.memory.hold(server, nil)
	if len(foreign) > 0 && last.key != "" {
		status.Emit(r.Recorder, server, restored)
	}
	p.main = kept
	return nil
}

// reasonBefore is how the operator came to its key, as far as that was told.
func reasonBefore(server *v1alpha1.TerdutServer, c *credential) string {
	before := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionBootstrapped)
	if before != nil && before.Status == metav1.ConditionTrue {
		return before.Reason
	}
	if c.origin == sourceProvided {
		return v1alpha1.ReasonAdminKeyProvided
	}
	return v1alpha1.ReasonBootstrapped
}

// accepted notes that the key in a Secret is accepted.
func (r *Reconciler) accepted(server *v1alpha1.TerdutServer, secret *corev1.Secret, c *credential, reason, note string) {
	r.memory.of(server, func(e *remembered) {
		e.held = nil
		e.accepted = accepted{
			uid: secret.UID, resourceVersion: secret.ResourceVersion, generation: server.Generation,
			credential: *c, reason: reason, note: note, at: r.Now(),
		}
	})
}

// publish writes a key that exists nowhere else. Until that has succeeded it is
// held, and every pass begins here. The write goes on when the pass is
// cancelled.
func (r *Reconciler) publish(ctx context.Context, held *answer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishLimit)
	defer cancel()
	server := held.server
	var err error
	for range publishTries {
		var secret *corev1.Secret
		if secret, err = r.store(ctx, server, v1alpha1.CredentialsSecretName(server.Name), &held.credential, nil); err == nil {
			status.Emit(r.Recorder, server, held.event)
			r.accepted(server, secret, &held.credential, held.reason, "")
			return nil
		}
		if !apply.IsLookAgain(err) {
			break
		}
	}
	name := v1alpha1.CredentialsSecretName(server.Name)
	return outcome.Waiting(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonApplyFailed,
		"the only key for the server is in the operator's memory, and Secret %q cannot be written: %v. The operator tries again: do not restart it before that", name, stable(err)).Because(err)
}

// store writes a key to a Secret as it is now.
func (r *Reconciler) store(ctx context.Context, server *v1alpha1.TerdutServer, name string, c *credential, more map[string]string) (*corev1.Secret, error) {
	live, err := r.Engine.ReadSecret(ctx, server.Namespace, name)
	if err != nil {
		return nil, err
	}
	return r.Engine.ApplySecret(ctx, server, live, c.intent(server, name, more))
}

// stable reduces an error to a text that is the same from one try to the next.
func stable(err error) error {
	if apply.IsLookAgain(err) {
		return errors.New("it changes all the time or is being deleted")
	}
	return err
}

// Start implements manager.Runnable: at the end of the process it writes every
// key that is held and waits for the calls that may bring another one.
func (r *Reconciler) Start(ctx context.Context) error {
	<-ctx.Done()
	ctx = logf.IntoContext(context.WithoutCancel(ctx), logf.FromContext(ctx))
	err := wait.PollUntilContextTimeout(ctx, shutdownPause, shutdownLimit, true, r.flush)
	if err != nil {
		return fmt.Errorf("write the keys that are in no Secret, before the end: %w", err)
	}
	return nil
}

// flush writes what is held and reports whether nothing is left.
func (r *Reconciler) flush(ctx context.Context) (bool, error) {
	held, asking := r.memory.outstanding()
	done := !asking
	for _, a := range held {
		if err := r.publish(ctx, a); err != nil {
			done = false
			logf.FromContext(ctx).Error(err, "key not written yet", "server", client.ObjectKeyFromObject(a.server))
		}
	}
	return done, nil
}
