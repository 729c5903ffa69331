package server

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

const (
	// hmacKeySize is in bytes, and hmacKeyKey the key of the Secret.
	hmacKeySize = 32
	hmacKeyKey  = "key"
	// keyIDSize is how many digits of an HMAC tell the key that it was made
	// with.
	keyIDSize = 8
	// maxOutdated is how many pods are remembered; a Deployment has at most ten.
	maxOutdated = 16
)

// passwordHMAC is what may be shown of a password: it is another one when the
// password is, and nobody can try passwords on it without the key. It begins
// with the ID of the key, since HMACs of two keys cannot be compared.
func passwordHMAC(key, password []byte) string {
	if len(key) == 0 {
		return ""
	}
	return digest(key, "key id", nil)[:keyIDSize] + "-" + digest(key, "database password", password)
}

func digest(key []byte, what string, value []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(what))
	mac.Write([]byte{0})
	mac.Write(value)
	return hex.EncodeToString(mac.Sum(nil))
}

// keyID is the part of an HMAC that tells its key.
func keyID(mac string) string {
	id, _, _ := strings.Cut(mac, "-")
	return id
}

// ensureHMACKey sees to it that there is a key for the HMACs of a server whose
// database has a password. It stands in a Secret of its own: the operator's
// credential comes after the first Deployment, and goes and comes back with a
// rotation, which must not restart the pods.
func (r *Reconciler) ensureHMACKey(ctx context.Context, server *v1alpha1.TerdutServer) error {
	if !namesPassword(&server.Spec.Database) {
		return nil
	}
	name := client.ObjectKey{Namespace: server.Namespace, Name: v1alpha1.DatabaseHMACSecretName(server.Name)}
	cached := &corev1.Secret{}
	switch err := r.Client.Get(ctx, name, cached); {
	case err == nil && holdsHMACKey(server, cached):
		r.databases.keep(server, cached.Data[hmacKeyKey])
		return nil
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("read Secret %s: %w", name, err)
	}
	live, err := r.Engine.ReadSecret(ctx, name.Namespace, name.Name)
	if err != nil {
		return err
	}
	if live != nil && holdsHMACKey(server, live) {
		r.databases.keep(server, live.Data[hmacKeyKey])
		return nil
	}
	// One that was deleted comes back as it was, so that nothing restarts.
	key := r.databases.key(server)
	if key == nil {
		key = make([]byte, hmacKeySize)
		if _, err = rand.Read(key); err != nil {
			return fmt.Errorf("make a key: %w", err)
		}
	}
	_, err = r.Engine.ApplySecret(ctx, server, live, apply.SecretIntent{
		Name: name.Name, Labels: labels(server.Name), Data: map[string][]byte{hmacKeyKey: key},
	})
	if err != nil {
		return writeEnding(err, v1alpha1.ConditionDatabaseReady)
	}
	r.databases.keep(server, key)
	return nil
}

// dropHMACKey deletes the key of a server that has no password any more. It
// comes after the children: none of them bears an HMAC by then.
func (r *Reconciler) dropHMACKey(ctx context.Context, server *v1alpha1.TerdutServer) error {
	if server.Spec.External == nil && namesPassword(&server.Spec.Database) {
		return nil
	}
	name := client.ObjectKey{Namespace: server.Namespace, Name: v1alpha1.DatabaseHMACSecretName(server.Name)}
	secret := &corev1.Secret{}
	switch err := r.Client.Get(ctx, name, secret); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read Secret %s: %w", name, err)
	case !metav1.IsControlledBy(secret, server):
		return nil
	}
	return r.drop(ctx, secret)
}

func holdsHMACKey(server *v1alpha1.TerdutServer, secret *corev1.Secret) bool {
	return metav1.IsControlledBy(secret, server) && len(secret.Data[hmacKeyKey]) == hmacKeySize
}

// databaseStatus is what to remember of the password after a pass. It is pure.
func databaseStatus(server *v1alpha1.TerdutServer, seen *Seen) *v1alpha1.ServerDatabaseStatus {
	before := server.Status.Database
	switch {
	case server.Spec.External != nil:
		return nil
	case seen.Database == nil:
		return before.DeepCopy()
	case seen.Database.Password == nil || seen.Database.PasswordHMAC == "":
		return nil
	}
	next := &v1alpha1.ServerDatabaseStatus{
		PasswordSecretRef: v1alpha1.SecretKeyRef{Name: seen.Database.Password.Secret, Key: seen.Database.Password.Key},
		PasswordHMAC:      seen.Database.PasswordHMAC,
	}
	switch {
	case server.Spec.Database.RestartOnRotation:
		// The template changes with the password.
	case passwordChanged(before, next):
		next.OutdatedPods = seen.Running
	case before != nil && before.PasswordSecretRef == next.PasswordSecretRef:
		next.OutdatedPods = common(before.OutdatedPods, seen.Running)
	}
	return next
}

// passwordChanged tells a new value in the same place. Another place is a change
// of the spec or of the cluster, which changes the template; and HMACs of two
// keys tell nothing.
func passwordChanged(before, next *v1alpha1.ServerDatabaseStatus) bool {
	return before != nil && next != nil &&
		before.PasswordSecretRef == next.PasswordSecretRef &&
		keyID(before.PasswordHMAC) == keyID(next.PasswordHMAC) &&
		before.PasswordHMAC != next.PasswordHMAC
}

// running are the pods whose container runs now, as <pod>/<restarts>. A
// container takes the password when it starts, so that this names exactly one
// use of it. It is asked for only when there is something to compare it with.
func (r *Reconciler) running(ctx context.Context, server *v1alpha1.TerdutServer, seen *Seen) ([]string, error) {
	if seen.Deployment == nil || !comparesPods(server, seen) {
		return nil, nil
	}
	pods, err := r.podsOf(ctx, seen.Deployment)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range pods {
		if name := runningContainer(&pods[i]); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxOutdated)], nil
}

// comparesPods tells whether it matters which pods run.
func comparesPods(server *v1alpha1.TerdutServer, seen *Seen) bool {
	before, now := server.Status.Database, databaseStatus(server, seen)
	if server.Spec.Database.RestartOnRotation || before == nil || now == nil {
		return false
	}
	return passwordChanged(before, now) || len(before.OutdatedPods) > 0
}

// runningContainer is empty when none runs, or its pod is going.
func runningContainer(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return ""
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == containerName && c.State.Running != nil {
			return fmt.Sprintf("%s/%d", pod.Name, c.RestartCount)
		}
	}
	return ""
}

// common are those of a that are in b.
func common(a, b []string) []string {
	var both []string
	for _, name := range a {
		if slices.Contains(b, name) {
			both = append(both, name)
		}
	}
	return both
}

// rotationEvents tells that the password has changed, once: a status that says
// so is written once.
func rotationEvents(server *v1alpha1.TerdutServer, next *v1alpha1.ServerDatabaseStatus) []status.Event {
	if !passwordChanged(server.Status.Database, next) {
		return nil
	}
	changed := fmt.Sprintf("the database's password in Secret %q has changed", next.PasswordSecretRef.Name)
	if server.Spec.Database.RestartOnRotation {
		return []status.Event{{Reason: v1alpha1.EventDatabasePasswordChanged, Message: changed + ": the pods are restarted with it"}}
	}
	message := changed + "; no pod runs with the earlier one"
	if len(next.OutdatedPods) > 0 {
		message = changed + "; the pods still have the earlier one: " + restartHint(server)
	}
	return []status.Event{{Warning: true, Reason: v1alpha1.EventDatabasePasswordChanged, Message: message}}
}

// restartHint says how pods get a new password.
func restartHint(server *v1alpha1.TerdutServer) string {
	return fmt.Sprintf("run kubectl rollout restart deployment/%s -n %s, or set spec.database.restartOnRotation", server.Name, server.Namespace)
}
