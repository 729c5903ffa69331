package alertsource

import (
	"context"
	"net/url"
	"strings"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
)

// kept is a key that somebody has kept, with its url and its integration; none
// where the Secret does not say.
type kept struct {
	yield
	of keyed
}

// offer puts the key of existingKeySecretRef beside the integration whose key it
// is: the one that would be taken over, or the recorded one if the Secret says
// that it is its. That Secret is read only where a key is missing.
func (k *kind) offer(ctx context.Context, s *v1alpha1.TerdutAlertSource, things []remote.Thing[body]) error {
	if s.Spec.ExistingKeySecretRef == nil || s.Status.PendingCreate != nil {
		return nil
	}
	record := recordOf(s)
	for i := range things {
		t := &things[i]
		var err error
		switch {
		case !t.KeyLost:
		case record == nil && t.Name == s.Spec.Name:
			err = k.offerForeign(ctx, s, t)
		case record != nil && record.ID == t.ID:
			err = k.offerOwn(ctx, s, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// offerForeign is for an integration that would be taken over: without its key
// it cannot be.
func (k *kind) offerForeign(ctx context.Context, s *v1alpha1.TerdutAlertSource, t *remote.Thing[body]) error {
	found, err := k.readKept(ctx, s)
	if err != nil {
		return err
	}
	if found.of.id != 0 && !found.of.is(named(t)) {
		return outcome.Refused(v1alpha1.ConditionSynced, v1alpha1.ReasonKeyUnknown,
			"integration %q is %d, and Secret %q holds the key of %d: name the Secret that holds its key in spec.existingKeySecretRef, choose another name, or delete it on the server",
			t.Name, t.ID, s.Spec.ExistingKeySecretRef.Name, found.of.id)
	}
	t.Yield = found.yield
	return nil
}

// offerOwn is for the recorded integration: without its key it gets a new one.
func (k *kind) offerOwn(ctx context.Context, s *v1alpha1.TerdutAlertSource, t *remote.Thing[body]) error {
	found, err := k.readKept(ctx, s)
	if _, ended := outcome.As(err); ended {
		return nil
	}
	if err == nil && found.of.is(named(t)) {
		t.Yield = found.yield
	}
	return err
}

// readKept reads what somebody has kept. What can be verified of it is verified:
// that both are there, and that they can be what they should be. That the server
// accepts the key only a delivered alert would show.
func (k *kind) readKept(ctx context.Context, s *v1alpha1.TerdutAlertSource) (kept, error) {
	name := s.Spec.ExistingKeySecretRef.Name
	secret, err := k.Engine.ReadSecret(ctx, s.Namespace, name)
	if err != nil {
		return kept{}, err
	}
	if secret == nil {
		return kept{}, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonSecretNotFound,
			"spec.existingKeySecretRef: Secret %q does not exist: create it with %q and %q of the integration", name, v1alpha1.WebhookURLKey, v1alpha1.WebhookKeyKey)
	}
	values := map[string]string{}
	for _, field := range []string{v1alpha1.WebhookURLKey, v1alpha1.WebhookKeyKey} {
		value := strings.TrimSpace(string(secret.Data[field]))
		switch {
		case value == "":
			return kept{}, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonSecretKeyMissing,
				"spec.existingKeySecretRef: Secret %q has no %q: add it", name, field)
		case field == v1alpha1.WebhookURLKey && !isAddress(value), !isPlain(value):
			return kept{}, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonKeyNotUsable,
				"spec.existingKeySecretRef: what stands in %q of Secret %q cannot be one: correct it", field, name)
		}
		values[field] = value
	}
	return kept{yield: yield{url: values[v1alpha1.WebhookURLKey], key: values[v1alpha1.WebhookKeyKey]}, of: keyOf(secret)}, nil
}

// isAddress tells whether alerts can be sent to a URL: one of HTTP, or the path
// of one, without a user in it.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.User != nil {
		return false
	}
	if u.Scheme == "" {
		return u.Host == "" && strings.HasPrefix(u.Path, "/")
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// isPlain tells whether a value can travel in a header and in a URL: ASCII that
// can be seen.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
