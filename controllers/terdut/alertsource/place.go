package alertsource

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
)

// place sees to it that the key of a source stands in the Secret that its spec
// names, whole, with the server's addresses of now, and in no other one of its own. A key is copied, then its place
// is recorded, then the copy before it goes: cut anywhere, the key stands in one
// of the two, and the next pass goes on. At rest it asks the API server nothing.
func (k *kind) place(ctx context.Context, at attach.Access, s *v1alpha1.TerdutAlertSource) ([]status.Part, error) {
	strays, err := k.strays(ctx, s)
	if err != nil {
		return nil, err
	}
	cached, err := k.Engine.CachedSecret(ctx, s.Namespace, s.WebhookSecret())
	if err != nil || len(strays) == 0 && isWhole(cached, s, at.Server) && s.Status.WebhookURLSecretRef.Name == cached.Name {
		return nil, err
	}
	if err = k.move(ctx, at, s, strays); err != nil {
		return nil, err
	}
	return nil, k.record(ctx, s, strays)
}

// move copies url and key to the Secret that the spec names, unless they stand
// there; what is missing of the rest is added, and what begins with an earlier
// address of the server begins with the one of now.
func (k *kind) move(ctx context.Context, at attach.Access, s *v1alpha1.TerdutAlertSource, strays []string) error {
	to, err := k.Engine.ReadSecret(ctx, s.Namespace, s.WebhookSecret())
	if err != nil {
		return err
	}
	if to != nil {
		if err = refuseUnfit(to, s); err != nil {
			return err
		}
	}
	from, err := k.holder(ctx, s, to, strays)
	if err != nil {
		return err
	}
	before, now := basesIn(from), basesOf(at.Server)
	public := follow(string(from.Data[v1alpha1.WebhookURLKey]), before.public, now.public)
	internal := follow(string(from.Data[v1alpha1.WebhookInternalURLKey]), before.internal, now.internal)
	if internal == "" {
		if _, internal, err = addresses(public, now); err != nil {
			return outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonKeyNotUsable,
				"Secret %q: what stands in %q is not a URL: put it right, or set the annotation %s for a new key",
				from.Name, v1alpha1.WebhookURLKey, v1alpha1.AnnotationRotate)
		}
	}
	_, err = k.Engine.ApplySecret(ctx, s, to, intentOf(s, recordedKey(s), now, map[string][]byte{
		v1alpha1.WebhookURLKey:         []byte(public),
		v1alpha1.WebhookKeyKey:         from.Data[v1alpha1.WebhookKeyKey],
		v1alpha1.WebhookInternalURLKey: []byte(internal),
	}))
	return explain(err, s.WebhookSecret())
}

// holder is the Secret that holds the key, read live: the wanted one, the
// recorded one, or one that nothing remembers.
func (k *kind) holder(ctx context.Context, s *v1alpha1.TerdutAlertSource, wanted *corev1.Secret, strays []string) (*corev1.Secret, error) {
	if wanted != nil && holds(wanted, s).is(recordedKey(s)) {
		return wanted, nil
	}
	for _, name := range append(secretNames(s)[1:], strays...) {
		secret, err := k.Engine.ReadSecret(ctx, s.Namespace, name)
		if err != nil {
			return nil, err
		}
		if secret != nil && holds(secret, s).is(recordedKey(s)) {
			return secret, nil
		}
	}
	// It was there a moment ago: the next look finds it lost.
	return nil, &apply.LookAgain{Key: apply.Key{Version: "v1", Kind: "Secret", Namespace: s.Namespace, Name: s.WebhookSecret()}, Err: errLost}
}

// record writes down where the key is, and deletes what that leaves behind.
func (k *kind) record(ctx context.Context, s *v1alpha1.TerdutAlertSource, strays []string) error {
	leftovers, err := k.standing(ctx, s, strays)
	if err != nil {
		return err
	}
	before := s.Status.WebhookURLSecretRef
	if len(leftovers) == 0 && before != nil && before.Name == s.WebhookSecret() {
		return nil
	}
	s.Status.WebhookURLSecretRef = &v1alpha1.LocalRef{Name: s.WebhookSecret()}
	config, err := k.Status(s)
	if err == nil {
		err = k.SaveStatus(ctx, s, config)
	}
	if err != nil {
		s.Status.WebhookURLSecretRef = before
		return err
	}
	for _, secret := range leftovers {
		if err = k.DeleteSecret(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// standing are those of the named Secrets that are still there and a source's
// own, read live.
func (k *kind) standing(ctx context.Context, s *v1alpha1.TerdutAlertSource, names []string) ([]*corev1.Secret, error) {
	var out []*corev1.Secret
	for _, name := range names {
		secret, err := k.Engine.ReadSecret(ctx, s.Namespace, name)
		if err != nil {
			return nil, err
		}
		if secret != nil && isOurs(secret, s) {
			out = append(out, secret)
		}
	}
	return out, nil
}

// strays are the names of the Secrets of a source besides the one that its spec
// names, as the cache has them. The label that the cache filters by has to be on
// them: nothing else of what a source controls is ever deleted.
func (k *kind) strays(ctx context.Context, s *v1alpha1.TerdutAlertSource) ([]string, error) {
	list := &corev1.SecretList{}
	err := k.Client.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingFields{bySource: string(s.UID)},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the Secrets of TerdutAlertSource %s/%s: %w", s.Namespace, s.Name, err)
	}
	var names []string
	for i := range list.Items {
		if name := list.Items[i].Name; name != s.WebhookSecret() && list.Items[i].DeletionTimestamp.IsZero() {
			names = append(names, name)
		}
	}
	return names, nil
}

// isWhole tells whether a Secret holds all that belongs to the integration that
// a source has recorded, for the addresses that the server has now.
func isWhole(secret *corev1.Secret, s *v1alpha1.TerdutAlertSource, server *v1alpha1.TerdutServer) bool {
	return secret != nil && s.Status.IntegrationID != 0 && holds(secret, s) == recordedKey(s) &&
		len(secret.Data[v1alpha1.WebhookInternalURLKey]) > 0 && s.Status.WebhookURLSecretRef != nil && basesIn(secret) == basesOf(server)
}

// intentOf is the webhook Secret with the key of an integration, and with what
// is behind those addresses.
func intentOf(s *v1alpha1.TerdutAlertSource, of keyed, at bases, data map[string][]byte) apply.SecretIntent {
	intent := apply.SecretIntent{
		Name:   s.WebhookSecret(),
		Labels: labels(),
		Annotations: map[string]string{
			v1alpha1.AnnotationIntegrationID:   strconv.FormatInt(of.id, 10),
			v1alpha1.AnnotationURLBase:         at.public,
			v1alpha1.AnnotationInternalURLBase: at.internal,
		},
		Data: data,
	}
	if of.createdAt != "" {
		intent.Annotations[v1alpha1.AnnotationIntegrationCreatedAt] = of.createdAt
	}
	return intent
}
