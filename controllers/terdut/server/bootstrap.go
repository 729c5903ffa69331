package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
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

// errNotAccepted is a clear no to a key.
var errNotAccepted = errors.New("the server does not accept the key")

// identify sees to it that the operator has a key that the server accepts. It
// climbs the ladder: a key that is there; the bootstrap of a fresh server; the
// administrator's key that the spec names; a message that says what to set.
// Whatever is no clear answer waits and changes nothing. Then it sees to the
// key: that it is the operator's own, and not too old.
func (r *Reconciler) identify(ctx context.Context, server *v1alpha1.TerdutServer, serving bool) (*Identity, error) {
	if held := r.memory.held(server); held != nil {
		if err := r.publish(ctx, held); err != nil {
			return nil, err
		}
	}
	known, err := r.known(ctx, server, serving)
	if err != nil || known != nil {
		return known, err
	}
	if !serving {
		return nil, settled(outcome.Waiting(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonWaitingForServer,
			"waits for a ready pod of Deployment %q", server.Name))
	}
	return r.climb(ctx, server)
}

// climb asks the server about the keys that there are, and gets one if it
// accepts none.
func (r *Reconciler) climb(ctx context.Context, server *v1alpha1.TerdutServer) (*Identity, error) {
	p, err := r.pair(ctx, server)
	if err != nil {
		return nil, err
	}
	current, err := r.current(ctx, server, p)
	if err != nil {
		return unanswered(server, err)
	}
	if current != nil {
		return r.settle(ctx, server, p, current, reasonBefore(server, current))
	}
	if err = r.abandon(ctx, p); err != nil {
		return nil, err
	}
	claimed, reason, err := r.claim(ctx, server, p)
	if err != nil {
		return nil, err
	}
	if err = r.acknowledge(ctx, server); err != nil {
		return nil, err
	}
	if p, err = r.pair(ctx, server); err != nil {
		return nil, err
	}
	return r.settle(ctx, server, p, claimed, reason)
}

// claim gets a key where there is none that the server accepts.
func (r *Reconciler) claim(ctx context.Context, server *v1alpha1.TerdutServer, p *pair) (*credential, string, error) {
	if server.Spec.External == nil {
		claimed, err := r.bootstrap(ctx, server, p)
		if err != nil || claimed != nil {
			return claimed, v1alpha1.ReasonBootstrapped, err
		}
	}
	claimed, err := r.provided(ctx, server, p)
	return claimed, v1alpha1.ReasonAdminKeyProvided, err
}

// abandon lets Secrets go that somebody has deleted, and that hold no key which
// is accepted: an empty one, or one whose bootstrap was never answered.
func (r *Reconciler) abandon(ctx context.Context, p *pair) error {
	var gone *corev1.Secret
	for _, secret := range []*corev1.Secret{p.next, p.main} {
		if !going(secret) {
			continue
		}
		gone = secret.DeepCopy()
		if err := r.release(ctx, secret); err != nil {
			return err
		}
	}
	if gone != nil {
		return lookAgainAt(gone, "it was deleted, and held no accepted key")
	}
	return nil
}

// unanswered is the end of a question that got no clear answer. A key that was
// accepted before stays what it is: then it is the server that is away, not the
// operator's identity on it.
func unanswered(server *v1alpha1.TerdutServer, err error) (*Identity, error) {
	ending, ended := outcome.As(err)
	if !ended || !meta.IsStatusConditionTrue(server.Status.Conditions, v1alpha1.ConditionBootstrapped) {
		return nil, err
	}
	return &Identity{Reason: reasonBefore(server, &credential{})}, ending.On(v1alpha1.ConditionAvailable)
}

// accepts asks the server whether it accepts a key: it answers 200 with JSON.
// It returns whose key it is, or nil where the server cannot tell. A JSON 401 to
// two questions is errNotAccepted: what is not accepted is given up, and one
// answer may come from something else. Everything else is an ending that waits.
func (r *Reconciler) accepts(ctx context.Context, server *v1alpha1.TerdutServer, key string) (*terdutapi.User, error) {
	user, err := r.ownerOf(ctx, server, key)
	if errors.Is(err, terdutapi.ErrUnauthorized) {
		user, err = r.ownerOf(ctx, server, key)
	}
	switch {
	case err == nil:
		return user, nil
	case errors.Is(err, terdutapi.ErrUnauthorized):
		return nil, errNotAccepted
	case errors.Is(err, terdutapi.ErrUnusableKey):
		return nil, fmt.Errorf("%w: %w", errNotAccepted, terdutapi.ErrUnusableKey)
	}
	return nil, connect.Explain(err, v1alpha1.ConditionBootstrapped, "check the operator's key")
}

// ownerOf asks the server once whose key it is.
func (r *Reconciler) ownerOf(ctx context.Context, server *v1alpha1.TerdutServer, key string) (*terdutapi.User, error) {
	api, err := r.Clients.Client(ctx, server, key)
	if err != nil {
		return nil, err
	}
	me, err := api.Me(ctx)
	if err == nil {
		return &me.User, nil
	}
	if errors.Is(err, terdutapi.ErrRouteMissing) {
		_, err = api.ListUsers(ctx)
	}
	return nil, err
}

// bootstrap claims a server that nobody has claimed. It returns nil when
// somebody else was first.
//
// The Secret is made before the call, so that quota, rights and admission fail
// while nothing is lost, and with the attempt on it, so that an answer that is
// lost afterwards is known to be. It holds a key of our choice already: where
// the server takes it, no answer can be lost. A key that stood there before
// stays until there is a better one; then none is chosen.
func (r *Reconciler) bootstrap(ctx context.Context, server *v1alpha1.TerdutServer, p *pair) (*credential, error) {
	refused := attemptRefused + strconv.FormatInt(server.Generation, 10)
	mark, draft := attemptOf(p.main), credentialOf(p.main)
	if mark == refused {
		return nil, nil
	}
	if mark != attemptOpen {
		if draft.key == "" {
			draft = credential{key: r.chooseKey(server), source: sourceBootstrap}
		}
		if err := r.mark(ctx, server, p, &draft, attemptOpen); err != nil {
			return nil, err
		}
		r.memory.of(server, func(e *remembered) { e.unheard = true })
	}
	if !draft.isDraft() {
		draft.key = ""
	}
	err := r.ask(ctx, server, draft.key)
	switch {
	case err == nil:
		held := r.memory.held(server)
		return &held.credential, r.publish(ctx, held)
	case !errors.Is(err, terdutapi.ErrForbidden):
		return nil, connect.Explain(err, v1alpha1.ConditionBootstrapped, "bootstrap the server")
	}
	unheard := false
	r.memory.of(server, func(e *remembered) { unheard = e.unheard })
	if !unheard {
		return nil, nil
	}
	// No call of ours can have been the one: nothing was lost.
	if draft = credentialOf(p.main); draft.isDraft() {
		draft = credential{}
	}
	return nil, r.mark(ctx, server, p, &draft, refused)
}

// mark writes the credentials Secret with the state of the bootstrap.
func (r *Reconciler) mark(ctx context.Context, server *v1alpha1.TerdutServer, p *pair, c *credential, state string) error {
	more := map[string]string{v1alpha1.AnnotationBootstrapAttempt: state}
	made, err := r.Engine.ApplySecret(ctx, server, p.main, c.intent(server, v1alpha1.CredentialsSecretName(server.Name), more))
	if err != nil {
		return writeEnding(err, v1alpha1.ConditionBootstrapped)
	}
	p.main = made
	return nil
}

// ask makes the bootstrap call and holds its answer.
func (r *Reconciler) ask(ctx context.Context, server *v1alpha1.TerdutServer, chosen string) (err error) {
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
		Key:      chosen,
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
	fresh := credential{key: result.Key, userID: result.User.ID, source: sourceBootstrap, origin: sourceBootstrap, issued: r.Now()}
	got = &answer{server: server.DeepCopy(), credential: fresh, reason: v1alpha1.ReasonBootstrapped, event: status.Event{
		Reason: v1alpha1.EventBootstrapped,
		Message: fmt.Sprintf("bootstrapped the server as user %q; the key is in Secret %q",
			operatorUser, v1alpha1.CredentialsSecretName(server.Name)),
	}}
	r.learnChosen(server, chosen, result.Key)
	return nil
}

// provided uses the key that the spec names for a server that is bootstrapped.
func (r *Reconciler) provided(ctx context.Context, server *v1alpha1.TerdutServer, p *pair) (*credential, error) {
	field, ref := adminKey(&server.Spec)
	if ref == nil {
		return nil, r.unidentified(server, p.main)
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
	me, err := r.accepts(ctx, server, key)
	switch {
	case errors.Is(err, terdutapi.ErrUnusableKey):
		return nil, outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonKeyNotUsable,
			"%s: key %q of Secret %q holds characters that cannot travel in a header: store the API key alone, without quotes or line breaks", field, ref.Key, ref.Secret)
	case errors.Is(err, errNotAccepted):
		return nil, outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonKeyNotAccepted,
			"%s: the server does not accept key %q of Secret %q: store a valid API key of an administrator there", field, ref.Key, ref.Secret)
	case err != nil:
		return nil, err
	}
	c := credential{key: key, source: sourceProvided, issued: r.Now()}.of(server, me)
	p.main, err = r.Engine.ApplySecret(ctx, server, p.main, c.intent(server, v1alpha1.CredentialsSecretName(server.Name), nil))
	return c, writeEnding(err, v1alpha1.ConditionBootstrapped)
}

// unidentified says what to do about a bootstrapped server without a key.
func (r *Reconciler) unidentified(server *v1alpha1.TerdutServer, live *corev1.Secret) error {
	if server.Spec.External != nil {
		return outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonAlreadyBootstrapped,
			"an external server is never bootstrapped: put an administrator's API key into a Secret in namespace %q and name that in spec.external.adminKeySecretRef",
			server.Namespace)
	}
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
