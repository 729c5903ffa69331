package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// Where a key comes from.
const (
	sourceBootstrap = "Bootstrap"
	sourceMinted    = "Minted"
	// sourceProvided is a key that a person gave. It is never revoked.
	sourceProvided = "Provided"
)

// credential is a key, and what is known of it. It stands in a Secret as a
// whole: the key as its value, all else in annotations.
type credential struct {
	key string
	// keyID and userID are 0 where they are not known.
	keyID, userID int64
	// account is true when userID is that of a service account of ours.
	account bool
	// name that the key was minted under; empty when the server chose one.
	name   string
	source string
	// origin is the source of the first key, which this one has come from.
	origin string
	issued time.Time
}

// ours tells whether the key was made by us or for us, so that it may be
// revoked.
func (c *credential) ours() bool { return c.source == sourceBootstrap || c.source == sourceMinted }

// isDraft tells a key that was chosen for a bootstrap and never confirmed.
func (c *credential) isDraft() bool { return c.source == sourceBootstrap && c.userID == 0 }

// intent is a Secret with a credential.
func (c *credential) intent(server *v1alpha1.TerdutServer, name string, more map[string]string) apply.SecretIntent {
	annotations := map[string]string{}
	for of, value := range map[string]string{
		v1alpha1.AnnotationKeyID:     id(c.keyID),
		v1alpha1.AnnotationUserID:    id(c.userID),
		v1alpha1.AnnotationKeyName:   c.name,
		v1alpha1.AnnotationKeySource: c.source,
		v1alpha1.AnnotationKeyOrigin: c.origin,
	} {
		if value != "" {
			annotations[of] = value
		}
	}
	if c.account {
		annotations[v1alpha1.AnnotationServiceAccount] = "true"
	}
	if !c.issued.IsZero() {
		annotations[v1alpha1.AnnotationKeyIssued] = c.issued.UTC().Format(time.RFC3339)
	}
	for of, value := range more {
		annotations[of] = value
	}
	intent := apply.SecretIntent{
		Name: name, Labels: labels(server.Name), Annotations: annotations, Finalizers: []string{v1alpha1.Finalizer},
	}
	if c.key != "" {
		intent.Data = map[string][]byte{v1alpha1.CredentialsKey: []byte(c.key)}
	}
	return intent
}

func id(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// credentialOf reads a Secret. What somebody wrote into an annotation that is
// no ID counts as not known.
func credentialOf(secret *corev1.Secret) credential {
	if secret == nil {
		return credential{}
	}
	number := func(of string) int64 {
		n, err := strconv.ParseInt(secret.Annotations[of], 10, 64)
		if err != nil || n <= 0 {
			return 0
		}
		return n
	}
	c := credential{
		key:     keyOf(secret),
		keyID:   number(v1alpha1.AnnotationKeyID),
		userID:  number(v1alpha1.AnnotationUserID),
		account: secret.Annotations[v1alpha1.AnnotationServiceAccount] == "true",
		name:    secret.Annotations[v1alpha1.AnnotationKeyName],
		source:  secret.Annotations[v1alpha1.AnnotationKeySource],
		origin:  secret.Annotations[v1alpha1.AnnotationKeyOrigin],
		issued:  secret.CreationTimestamp.Time,
	}
	if at, err := time.Parse(time.RFC3339, secret.Annotations[v1alpha1.AnnotationKeyIssued]); err == nil {
		c.issued = at
	}
	return c
}

func keyOf(secret *corev1.Secret) string {
	if secret == nil {
		return ""
	}
	return strings.TrimSpace(string(secret.Data[v1alpha1.CredentialsKey]))
}

// pair is the two Secrets that may hold the operator's key, as they are live;
// nil means that there is none.
type pair struct {
	main, next *corev1.Secret
}

// pair reads both Secrets live.
func (r *Reconciler) pair(ctx context.Context, server *v1alpha1.TerdutServer) (*pair, error) {
	main, err := r.ownSecret(ctx, server, v1alpha1.CredentialsSecretName(server.Name))
	if err != nil {
		return nil, err
	}
	next, err := r.ownSecret(ctx, server, v1alpha1.NextCredentialsSecretName(server.Name))
	if err != nil {
		return nil, err
	}
	return &pair{main: main, next: next}, nil
}

// ownSecret reads a Secret of the server's live; nil means that there is none.
func (r *Reconciler) ownSecret(ctx context.Context, server *v1alpha1.TerdutServer, name string) (*corev1.Secret, error) {
	live, err := r.Engine.ReadSecret(ctx, server.Namespace, name)
	switch {
	case err != nil || live == nil:
		return nil, err
	case metav1.IsControlledBy(live, server):
		return live, nil
	case going(live) && ofServer(live, server.Name):
		// Its owner bore this name, so it is gone.
		if err = r.release(ctx, live); err != nil {
			return nil, err
		}
		return nil, lookAgainAt(live, "it belongs to an earlier TerdutServer and is on its way out")
	}
	return nil, outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonNameConflict,
		"Secret %q exists and was not made for this TerdutServer: delete or rename it, so that the operator can keep its key there", name)
}

// ofServer tells whether a Secret was made for a TerdutServer of that name.
func ofServer(secret *corev1.Secret, name string) bool {
	owner := metav1.GetControllerOf(secret)
	return owner != nil && owner.Kind == "TerdutServer" && owner.Name == name
}

func going(secret *corev1.Secret) bool { return secret != nil && secret.DeletionTimestamp != nil }

func lookAgainAt(secret *corev1.Secret, why string) error {
	return &apply.LookAgain{
		Key: apply.Key{Version: "v1", Kind: "Secret", Namespace: secret.Namespace, Name: secret.Name},
		Err: fmt.Errorf("read it again: %s", why),
	}
}

// release takes our finalizer off a Secret, of exactly the version that was
// read.
func (r *Reconciler) release(ctx context.Context, secret *corev1.Secret) error {
	before := secret.DeepCopy()
	if !controllerutil.RemoveFinalizer(secret, v1alpha1.Finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.Client.Patch(ctx, secret, patch, client.FieldOwner(apply.FieldManager))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return lookAgainAt(before, "it has changed meanwhile")
	case err != nil:
		return fmt.Errorf("take the finalizer off Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}

// drop deletes a Secret of ours that has served its purpose.
func (r *Reconciler) drop(ctx context.Context, secret *corev1.Secret) error {
	if err := r.release(ctx, secret); err != nil || going(secret) {
		return err
	}
	err := r.Client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}

// letGo takes our finalizer off both Secrets of a server that needs them no
// more. It comes before the server's own: a server that is deleted in the
// foreground waits for its Secrets. owner is empty when the server is gone;
// then all of that name go.
func (r *Reconciler) letGo(ctx context.Context, server types.NamespacedName, owner types.UID) error {
	for _, name := range []string{v1alpha1.CredentialsSecretName(server.Name), v1alpha1.NextCredentialsSecretName(server.Name)} {
		secret, err := r.secretNamed(ctx, server.Namespace, name, owner != "")
		if err != nil {
			return err
		}
		reference := (*metav1.OwnerReference)(nil)
		if secret != nil {
			reference = metav1.GetControllerOf(secret)
		}
		if reference == nil || !ofServer(secret, server.Name) || owner != "" && reference.UID != owner {
			continue
		}
		if err = r.release(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// secretNamed reads a Secret, live where it matters; nil means that there is none.
func (r *Reconciler) secretNamed(ctx context.Context, namespace, name string, live bool) (*corev1.Secret, error) {
	if live {
		return r.Engine.ReadSecret(ctx, namespace, name)
	}
	return r.Engine.CachedSecret(ctx, namespace, name)
}

// of is the credential with what the server says about whose it is; nil means
// that it cannot tell.
func (c credential) of(server *v1alpha1.TerdutServer, me *terdutapi.User) *credential {
	if c.source == "" {
		c.source = sourceProvided
	}
	if c.origin == "" && c.source != sourceMinted {
		c.origin = c.source
	}
	if me == nil {
		return &c
	}
	if c.userID != me.ID {
		if c.userID != 0 {
			c.keyID = 0
		}
		c.userID = me.ID
	}
	if me.Username == accountName(server) {
		c.account = true
	}
	return &c
}

// isKeyPath tells the field of a Secret that holds the key.
func isKeyPath(path string) bool {
	return path == "data" || path == "data."+v1alpha1.CredentialsKey
}
