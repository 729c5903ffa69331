package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// credentials is the Secret with the operator's key, or without one yet.
func credentials(server *v1alpha1.TerdutServer, key, attempt string) apply.SecretIntent {
	intent := apply.SecretIntent{Name: v1alpha1.CredentialsSecretName(server.Name), Labels: labels(server.Name)}
	if key != "" {
		intent.Data = map[string][]byte{v1alpha1.CredentialsKey: []byte(key)}
	}
	if attempt != "" {
		intent.Annotations = map[string]string{v1alpha1.AnnotationBootstrapAttempt: attempt}
	}
	return intent
}

// known tells from the cache alone whether the key that is there needs no
// question: it was accepted within the last resync, or there is no pod to ask.
func (r *Reconciler) known(ctx context.Context, server *v1alpha1.TerdutServer, serving bool) (*Identity, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: server.Namespace, Name: v1alpha1.CredentialsSecretName(server.Name)}
	err := r.Client.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	case !metav1.IsControlledBy(secret, server) || secret.DeletionTimestamp != nil || keyOf(secret) == "":
		return nil, nil
	}
	last := r.memory.accepted(server)
	same := last.uid == secret.UID && last.resourceVersion == secret.ResourceVersion
	switch {
	case same && (!serving || r.Now().Sub(last.at) < r.recheck()):
		return &Identity{Reason: last.reason}, nil
	case !serving && meta.IsStatusConditionTrue(server.Status.Conditions, v1alpha1.ConditionBootstrapped):
		return &Identity{Reason: reasonBefore(server)}, nil
	}
	return nil, nil
}

// keep notes that a key was accepted, and makes the Secret what it should be:
// it may have been changed or deleted.
func (r *Reconciler) keep(ctx context.Context, server *v1alpha1.TerdutServer, live *corev1.Secret, key string) (*Identity, error) {
	intent := credentials(server, key, "")
	foreign := []apply.FieldDrift{{Path: apply.PathDeleted}}
	if live != nil {
		var err error
		if foreign, err = r.Engine.ForeignFields(server, live, intent); err != nil {
			return nil, err
		}
	}
	kept, err := r.Engine.ApplySecret(ctx, server, live, intent)
	if err != nil {
		return nil, writeEnding(err, v1alpha1.ConditionBootstrapped)
	}
	if len(foreign) > 0 {
		status.Emit(r.Recorder, server, drift("Secret "+kept.Name, foreign))
	}
	return r.accepted(server, kept, key, reasonBefore(server)), nil
}

// reasonBefore is how the operator came to its key, as far as that was told.
func reasonBefore(server *v1alpha1.TerdutServer) string {
	before := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionBootstrapped)
	if before != nil && before.Status == metav1.ConditionTrue {
		return before.Reason
	}
	return v1alpha1.ReasonBootstrapped
}

// accepted notes that the key in a Secret is accepted.
func (r *Reconciler) accepted(server *v1alpha1.TerdutServer, secret *corev1.Secret, key, reason string) *Identity {
	r.memory.of(server, func(e *remembered) {
		e.held = nil
		e.accepted = accepted{uid: secret.UID, resourceVersion: secret.ResourceVersion, key: key, reason: reason, at: r.Now()}
	})
	return &Identity{Reason: reason}
}

// publish writes a key that exists nowhere else. Until that has succeeded it is
// held, and every pass begins here. The write goes on when the pass is
// cancelled.
func (r *Reconciler) publish(ctx context.Context, server *v1alpha1.TerdutServer, key, reason string) (*Identity, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishLimit)
	defer cancel()
	var err error
	for range publishTries {
		var secret *corev1.Secret
		if secret, err = r.store(ctx, server, key); err == nil {
			status.Emit(r.Recorder, server, status.Event{
				Reason:  v1alpha1.EventBootstrapped,
				Message: fmt.Sprintf("bootstrapped the server as user %q; the key is in Secret %q", operatorUser, secret.Name),
			})
			return r.accepted(server, secret, key, reason), nil
		}
		if !apply.IsLookAgain(err) {
			break
		}
	}
	name := v1alpha1.CredentialsSecretName(server.Name)
	return nil, outcome.Waiting(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonApplyFailed,
		"the server has handed out its only key, and Secret %q cannot be written: %v. The operator holds the key and tries again: do not restart it before that", name, stable(err)).Because(err)
}

// store writes a key to the Secret as it is now.
func (r *Reconciler) store(ctx context.Context, server *v1alpha1.TerdutServer, key string) (*corev1.Secret, error) {
	live, err := r.Engine.ReadSecret(ctx, server.Namespace, v1alpha1.CredentialsSecretName(server.Name))
	if err != nil {
		return nil, err
	}
	return r.Engine.ApplySecret(ctx, server, live, credentials(server, key, ""))
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
		return fmt.Errorf("write the keys that servers have handed out, before the end: %w", err)
	}
	return nil
}

// flush writes what is held and reports whether nothing is left.
func (r *Reconciler) flush(ctx context.Context) (bool, error) {
	held, asking := r.memory.outstanding()
	done := !asking
	for _, a := range held {
		if _, err := r.publish(ctx, a.server, a.key, v1alpha1.ReasonBootstrapped); err != nil {
			done = false
			logf.FromContext(ctx).Error(err, "key not written yet", "server", client.ObjectKeyFromObject(a.server))
		}
	}
	return done, nil
}
