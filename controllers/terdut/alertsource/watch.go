package alertsource

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
)

// Names of the indices.
const (
	// bySource finds Secrets by the UID of the TerdutAlertSource that controls
	// them.
	bySource = "alertsource.secrets"
	// bySecret finds TerdutAlertSources, in the Secret's namespace, by the name
	// of a Secret that their spec means.
	bySecret = "alertsource.names"
)

// index adds the indices. It is called once, before the manager starts.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &corev1.Secret{}, bySource, func(o client.Object) []string {
		if owner := metav1.GetControllerOf(o); owner != nil {
			return []string{string(owner.UID)}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index Secrets by their controller: %w", err)
	}
	err = indexer.IndexField(ctx, &v1alpha1.TerdutAlertSource{}, bySecret, func(o client.Object) []string {
		if s, ok := o.(*v1alpha1.TerdutAlertSource); ok {
			return meant(s)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index TerdutAlertSources by Secret: %w", err)
	}
	return nil
}

// meant are the names of the Secrets that the spec of a source means.
func meant(s *v1alpha1.TerdutAlertSource) []string {
	names := []string{s.WebhookSecret()}
	if ref := s.Spec.ExistingKeySecretRef; ref != nil {
		names = append(names, ref.Name)
	}
	return names
}

// watchServers watches the addresses of servers, which webhook Secrets show.
func (k *kind) watchServers(b *builder.Builder) *builder.Builder {
	return b.Watches(&v1alpha1.TerdutServer{}, attach.ToChildrenOfTeams(k.Client, newList), builder.WithPredicates(attach.Moved()))
}

// watchSecrets watches the Secrets that a source owns, and, by their metadata,
// those that its spec means: one that is in the way may go, and one that is
// missing may come.
func (k *kind) watchSecrets(b *builder.Builder) *builder.Builder {
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return b.Owns(&corev1.Secret{}).WatchesRawSource(source.Kind(k.Secrets.GetCache(), secrets,
		handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
			return attach.Requests(ctx, k.Client, newList(),
				client.InNamespace(secret.Namespace), client.MatchingFields{bySecret: secret.Name})
		}),
		predicate.TypedResourceVersionChangedPredicate[*metav1.PartialObjectMetadata]{}))
}
