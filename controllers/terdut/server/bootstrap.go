package server

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// The user that a bootstrap makes. The address can receive nothing, on purpose.
const (
	operatorUser        = "terdut-operator"
	operatorEmailDomain = ".invalid"
)

const (
	// attemptOpen marks the credentials Secret from before the bootstrap call
	// until its answer is written. While it stands, an answer may be lost.
	attemptOpen = "open"
	// attemptRefused, with a generation behind it, marks a Secret whose call
	// was answered: somebody has bootstrapped. It is not asked again before
	// the spec changes or the Secret is deleted.
	attemptRefused = "refused-at-generation-"
)

// askLimit bounds a bootstrap call. It goes on when the pass is cancelled: its
// answer exists once.
const askLimit = 30 * time.Second

// Identity is the operator's key on a server, without the key.
type Identity struct {
	// Reason of the condition Bootstrapped.
	Reason string
}

// identify sees to it that the operator has a key that the server accepts. It
// climbs the ladder: a key that is there; the bootstrap of a fresh server; the
// administrator's key that the spec names; a message that says what to set.
// Whatever is no clear answer waits and changes nothing.
func (r *Reconciler) identify(ctx context.Context, server *v1alpha1.TerdutServer, deployment *appsv1.Deployment) (*Identity, error) {
	if held := r.memory.held(server); held != nil {
		return r.publish(ctx, server, held.key, v1alpha1.ReasonBootstrapped)
	}
	known, err := r.known(ctx, server, serves(deployment))
	if err != nil || known != nil {
		return known, err
	}
	if !serves(deployment) {
		return nil, settled(outcome.Waiting(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonWaitingForServer,
			"waits for a ready pod of Deployment %q", server.Name))
	}
	live, err := r.ownCredentials(ctx, server)
	if err != nil {
		return nil, err
	}
	for _, key := range r.candidates(server, live) {
		ok, askErr := r.accepts(ctx, server, key)
		if askErr != nil && !errors.Is(askErr, terdutapi.ErrUnusableKey) {
			return unanswered(server, askErr)
		}
		if ok {
			return r.keep(ctx, server, live, key)
		}
	}
	live, known, err = r.bootstrap(ctx, server, live)
	if err != nil || known != nil {
		return known, err
	}
	return r.provided(ctx, server, live)
}

// candidates are the keys that may be the operator's: the one in the Secret,
// and the one that was there before somebody deleted or changed it.
func (r *Reconciler) candidates(server *v1alpha1.TerdutServer, live *corev1.Secret) []string {
	var keys []string
	for _, key := range []string{keyOf(live), r.memory.accepted(server).key} {
		if key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// unanswered is the end of a question that got no clear answer. A key that was
// accepted before stays what it is: then it is the server that is away, not the
// operator's identity on it.
func unanswered(server *v1alpha1.TerdutServer, err error) (*Identity, error) {
	ending, ended := outcome.As(err)
	if !ended || !meta.IsStatusConditionTrue(server.Status.Conditions, v1alpha1.ConditionBootstrapped) {
		return nil, err
	}
	return &Identity{Reason: reasonBefore(server)}, ending.On(v1alpha1.ConditionAvailable)
}

// accepts tells whether the server accepts a key: it answers 200 with JSON. A
// JSON 401 is a no; everything else is an ending that waits.
func (r *Reconciler) accepts(ctx context.Context, server *v1alpha1.TerdutServer, key string) (bool, error) {
	api, err := r.Clients.Client(ctx, server, key)
	if err == nil {
		_, err = api.Me(ctx)
		if errors.Is(err, terdutapi.ErrRouteMissing) {
			_, err = api.ListUsers(ctx)
		}
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, terdutapi.ErrUnauthorized):
		return false, nil
	case errors.Is(err, terdutapi.ErrUnusableKey):
		return false, terdutapi.ErrUnusableKey
	}
	return false, connect.Explain(err, v1alpha1.ConditionBootstrapped, "check the operator's key")
}

// bootstrap claims a server that nobody has claimed. It returns the Secret as
// it is then, and no identity when somebody else was first.
//
// The Secret is made before the call, so that quota, rights and admission fail
// while nothing is lost, and with the attempt on it, so that an answer that is
// lost afterwards is known to be.
func (r *Reconciler) bootstrap(ctx context.Context, server *v1alpha1.TerdutServer, live *corev1.Secret) (*corev1.Secret, *Identity, error) {
	refused := attemptRefused + strconv.FormatInt(server.Generation, 10)
	mark := attemptOf(live)
	if mark == refused {
		return live, nil, nil
	}
	if mark != attemptOpen {
		made, err := r.Engine.ApplySecret(ctx, server, live, credentials(server, keyOf(live), attemptOpen))
		if err != nil {
			return live, nil, writeEnding(err, v1alpha1.ConditionBootstrapped)
		}
		live = made
		r.memory.of(server, func(e *remembered) { e.unheard = true })
	}
	err := r.ask(ctx, server)
	switch {
	case err == nil:
		known, publishErr := r.publish(ctx, server, r.memory.held(server).key, v1alpha1.ReasonBootstrapped)
		return live, known, publishErr
	case !errors.Is(err, terdutapi.ErrForbidden):
		return live, nil, connect.Explain(err, v1alpha1.ConditionBootstrapped, "bootstrap the server")
	}
	unheard := false
	r.memory.of(server, func(e *remembered) { unheard = e.unheard })
	if !unheard {
		return live, nil, nil
	}
	// No call of ours can have been the one: nothing was lost.
	live, err = r.Engine.ApplySecret(ctx, server, live, credentials(server, keyOf(live), refused))
	if err != nil {
		return live, nil, writeEnding(err, v1alpha1.ConditionBootstrapped)
	}
	return live, nil, nil
}

// ask makes the bootstrap call and holds its answer.
func (r *Reconciler) ask(ctx context.Context, server *v1alpha1.TerdutServer) (err error) {
	api, err := r.Clients.Client(ctx, server, "")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	var got *answer
	end := r.memory.begin(server)
	defer func() { end(got) }()
	result, err := api.Bootstrap(ctx, terdutapi.BootstrapRequest{
		Username: operatorUser,
		Email:    operatorUser + "@" + server.Name + "." + server.Namespace + operatorEmailDomain,
	})
	if err != nil {
		var transport *terdutapi.TransportError
		unsent := errors.As(err, &transport) && !transport.Sent
		if !unsent && !errors.Is(err, terdutapi.ErrForbidden) && !errors.Is(err, terdutapi.ErrRateLimited) {
			r.memory.of(server, func(e *remembered) { e.unheard = false })
		}
		return err
	}
	got = &answer{server: server.DeepCopy(), key: result.Key}
	return nil
}

// provided uses the key that the spec names for a server that is bootstrapped.
func (r *Reconciler) provided(ctx context.Context, server *v1alpha1.TerdutServer, live *corev1.Secret) (*Identity, error) {
	const field = "spec.bootstrap.adminKeySecretRef"
	ref := adminKey(&server.Spec)
	if ref == nil {
		return nil, r.unidentified(server, live)
	}
	raw, err := r.value(ctx, server, v1alpha1.ConditionBootstrapped, field, ref)
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(string(raw))
	if key == "" {
		return nil, settled(outcome.Waiting(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonSecretKeyMissing,
			"%s names key %q of Secret %q, which holds only white space: set it", field, ref.Key, ref.Secret))
	}
	ok, err := r.accepts(ctx, server, key)
	switch {
	case errors.Is(err, terdutapi.ErrUnusableKey):
		return nil, outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonKeyNotUsable,
			"%s: key %q of Secret %q holds characters that cannot travel in a header: store the API key alone, without quotes or line breaks", field, ref.Key, ref.Secret)
	case err != nil:
		return nil, err
	case !ok:
		return nil, outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonKeyNotAccepted,
			"%s: the server does not accept key %q of Secret %q: store a valid API key of an administrator there", field, ref.Key, ref.Secret)
	}
	made, err := r.Engine.ApplySecret(ctx, server, live, credentials(server, key, ""))
	if err != nil {
		return nil, writeEnding(err, v1alpha1.ConditionBootstrapped)
	}
	return r.accepted(server, made, key, v1alpha1.ReasonAdminKeyProvided), nil
}

// unidentified says what to do about a bootstrapped server without a key.
func (r *Reconciler) unidentified(server *v1alpha1.TerdutServer, live *corev1.Secret) error {
	if attemptOf(live) == attemptOpen {
		return outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonBootstrapKeyLost,
			"the server is bootstrapped, but the answer to the operator's own attempt never arrived, or somebody bootstrapped after it. "+
				"First: if anybody has an administrator's API key, put it into a Secret in namespace %q and name that in spec.bootstrap.adminKeySecretRef. "+
				"Only if nobody has ever used this install: empty its database and delete Secret %q",
			server.Namespace, live.Name)
	}
	return outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonAlreadyBootstrapped,
		"somebody else has bootstrapped this server: put an administrator's API key into a Secret in namespace %q and name that in spec.bootstrap.adminKeySecretRef",
		server.Namespace)
}

func attemptOf(secret *corev1.Secret) string {
	if secret == nil {
		return ""
	}
	return secret.Annotations[v1alpha1.AnnotationBootstrapAttempt]
}

func keyOf(secret *corev1.Secret) string {
	if secret == nil {
		return ""
	}
	return strings.TrimSpace(string(secret.Data[v1alpha1.CredentialsKey]))
}

// ownCredentials reads the credentials Secret live; nil means that there is
// none.
func (r *Reconciler) ownCredentials(ctx context.Context, server *v1alpha1.TerdutServer) (*corev1.Secret, error) {
	name := v1alpha1.CredentialsSecretName(server.Name)
	live, err := r.Engine.ReadSecret(ctx, server.Namespace, name)
	switch {
	case err != nil || live == nil:
		return nil, err
	case !metav1.IsControlledBy(live, server):
		return nil, outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonNameConflict,
			"Secret %q exists and was not made for this TerdutServer: delete or rename it, so that the operator can keep its key there", name)
	case live.DeletionTimestamp != nil:
		return nil, outcome.Waiting(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonProgressing,
			"Secret %q is being deleted: waits until it is gone", name)
	}
	return live, nil
}
