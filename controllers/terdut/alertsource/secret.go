package alertsource

import (
	"context"
	"errors"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete

// errLost is what a Secret that was just seen turns out to be.
var errLost = errors.New("the key does not stand there any more")

// secretNames are the Secrets in which the key of a source may stand: the one
// that the spec names, then the one where it was put.
func secretNames(s *v1alpha1.TerdutAlertSource) []string {
	names := []string{s.WebhookSecret()}
	if ref := s.Status.WebhookURLSecretRef; ref != nil && ref.Name != names[0] {
		names = append(names, ref.Name)
	}
	return names
}

// recordOf is the integration that a source holds; nil when there is none, or
// when the record was copied from another resource.
func recordOf(s *v1alpha1.TerdutAlertSource) *v1alpha1.RemoteIdentity {
	if r := s.Status.Remote; r != nil && r.OwnerUID == s.UID {
		return r
	}
	return nil
}

// recordedSecret is the Secret in which the key of a source was put.
func recordedSecret(s *v1alpha1.TerdutAlertSource) string {
	if ref := s.Status.WebhookURLSecretRef; ref != nil {
		return ref.Name
	}
	return s.WebhookSecret()
}

// heldKeys are the integrations whose keys stand in the Secrets of a
// source. What the cache does not show is read live before anything rests on its
// absence: a key that is declared lost is replaced. While something is begun the
// cache may not show yet what was just published, and is not asked.
func (k *kind) heldKeys(ctx context.Context, s *v1alpha1.TerdutAlertSource) ([]keyed, error) {
	names := secretNames(s)
	if recordOf(s) == nil {
		// A status that was lost remembers no Secret, and one may have been moved.
		strays, err := k.strays(ctx, s)
		if err != nil {
			return nil, err
		}
		names = append(names, strays...)
	} else if s.Status.PendingCreate == nil {
		held, err := k.heldIn(ctx, s, names, k.Engine.CachedSecret)
		if err != nil || slices.ContainsFunc(held, recordedKey(s).is) {
			return held, err
		}
	}
	return k.heldIn(ctx, s, names, k.Engine.ReadSecret)
}

func (k *kind) heldIn(
	ctx context.Context, s *v1alpha1.TerdutAlertSource, names []string, read func(context.Context, string, string) (*corev1.Secret, error),
) ([]keyed, error) {
	var held []keyed
	for _, name := range names {
		secret, err := read(ctx, s.Namespace, name)
		if err != nil {
			return nil, err
		}
		if secret == nil {
			continue
		}
		if one := holds(secret, s); one.id != 0 {
			held = append(held, one)
		}
	}
	return held, nil
}

// keyed is an integration as the Secret with its key names it. The ID alone
// could be another's by now: a server that came back from a backup gives IDs out
// again. createdAt is empty where the server gives none, or the Secret is from
// before it was written there.
type keyed struct {
	id        int64
	createdAt string
}

// is tells whether two names mean the same integration.
func (k keyed) is(other keyed) bool {
	return k.id != 0 && k.id == other.id && (k.createdAt == other.createdAt || k.createdAt == "" || other.createdAt == "")
}

// named is an integration on the server, as a Secret would name it.
func named(t *remote.Thing[body]) keyed { return keyed{id: t.ID, createdAt: t.CreatedAt} }

// recordedKey is the integration that a source holds, as a Secret would name it.
func recordedKey(s *v1alpha1.TerdutAlertSource) keyed {
	if s.Status.Remote == nil {
		return keyed{id: s.Status.IntegrationID}
	}
	return keyed{id: s.Status.IntegrationID, createdAt: s.Status.Remote.CreatedAt}
}

// holds is the integration whose url and key a Secret of this source holds;
// none unless it holds both.
func holds(secret *corev1.Secret, s *v1alpha1.TerdutAlertSource) keyed {
	if !isOurs(secret, s) || len(secret.Data[v1alpha1.WebhookURLKey]) == 0 || len(secret.Data[v1alpha1.WebhookKeyKey]) == 0 {
		return keyed{}
	}
	return keyOf(secret)
}

// keyOf reads whose key a Secret says that it holds.
func keyOf(secret *corev1.Secret) keyed {
	id, err := strconv.ParseInt(secret.Annotations[v1alpha1.AnnotationIntegrationID], 10, 64)
	if err != nil {
		return keyed{}
	}
	return keyed{id: id, createdAt: secret.Annotations[v1alpha1.AnnotationIntegrationCreatedAt]}
}

// isOurs tells whether a source controls a Secret that is there to stay. A
// Secret without a controller is somebody else's too.
func isOurs(secret *corev1.Secret, s *v1alpha1.TerdutAlertSource) bool {
	return metav1.IsControlledBy(secret, s) && secret.DeletionTimestamp.IsZero()
}

// prepare makes the Secret, empty, owned and labelled, if it is not there.
func (k *kind) prepare(ctx context.Context, s *v1alpha1.TerdutAlertSource) error {
	name := s.WebhookSecret()
	live, err := k.Engine.ReadSecret(ctx, s.Namespace, name)
	if err != nil {
		return err
	}
	if live != nil {
		return refuseUnfit(live, s)
	}
	_, err = k.Engine.ApplySecret(ctx, s, nil, apply.SecretIntent{Name: name, Labels: labels()})
	return explain(err, name)
}

// Publish writes url and key, both at once, beside the ID that they belong to.
func (k *kind) Publish(ctx context.Context, at attach.Access, s *v1alpha1.TerdutAlertSource, made remote.Thing[body]) error {
	got, ok := made.Yield.(yield)
	if !ok {
		return errors.New("publish the key of an integration: the create answer is not at hand any more")
	}
	name := s.WebhookSecret()
	live, err := k.Engine.ReadSecret(ctx, s.Namespace, name)
	if err != nil {
		return err
	}
	if live != nil {
		if err = refuseUnfit(live, s); err != nil {
			return err
		}
	}
	now := basesOf(at.Server)
	public, internal, err := addresses(got.url, now)
	if err != nil {
		return outcome.Unknown(v1alpha1.ConditionSynced, v1alpha1.ReasonUnexpectedAnswer,
			"publish the key of integration %d: the server gave a URL that cannot be used", made.ID)
	}
	_, err = k.Engine.ApplySecret(ctx, s, live, intentOf(s, named(&made), now, map[string][]byte{
		v1alpha1.WebhookURLKey:         []byte(public),
		v1alpha1.WebhookKeyKey:         []byte(got.key),
		v1alpha1.WebhookInternalURLKey: []byte(internal),
	}))
	if err != nil {
		return explain(err, name)
	}
	s.Status.WebhookURLSecretRef = &v1alpha1.LocalRef{Name: name}
	return nil
}

// withdraw deletes the Secret with the key of an integration that is about to be
// deleted.
func (k *kind) withdraw(ctx context.Context, s *v1alpha1.TerdutAlertSource, id int64) error {
	live, err := k.Engine.ReadSecret(ctx, s.Namespace, s.WebhookSecret())
	if err != nil || live == nil || holds(live, s).id != id {
		return err
	}
	return k.DeleteSecret(ctx, live)
}

func labels() map[string]string {
	return map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}
}

// refuseUnfit refuses a Secret that cannot take a key now.
func refuseUnfit(live *corev1.Secret, s *v1alpha1.TerdutAlertSource) error {
	switch {
	case !metav1.IsControlledBy(live, s):
		return foreign(live.Name)
	case !live.DeletionTimestamp.IsZero():
		return outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonProgressing,
			"Secret %q is being deleted: it is made again when it is gone", live.Name)
	}
	return nil
}

// explain turns the refusal of a foreign Secret into an ending.
func explain(err error, name string) error {
	var refused *apply.Refused
	if errors.As(err, &refused) {
		return foreign(name)
	}
	return err
}

func foreign(name string) error {
	return outcome.Refused(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonNameConflict,
		"Secret %q exists and does not belong to this resource: rename or delete it, so that the webhook's URL and key can go there", name)
}
