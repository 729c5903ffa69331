package sides

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// webhooks complains unless each source of a team has a Secret with everything in it, for the integration that is recorded.
func (c Cluster) webhooks(ctx context.Context, team *v1alpha1.TerdutTeam, all resources) error {
	var failed error
	for _, source := range of(team, all.sources, func(s *v1alpha1.TerdutAlertSource) string { return s.Spec.TeamRef.Name }) {
		if source.Status.WebhookURLSecretRef == nil {
			failed = errors.Join(failed, fmt.Errorf("source %s names no Secret in its status", source.Name))
			continue
		}
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: source.Namespace, Name: source.Status.WebhookURLSecretRef.Name}
		if err := c.Kube.Get(ctx, key, secret); err != nil {
			failed = errors.Join(failed, fmt.Errorf("read the Secret of source %s: %w", source.Name, err))
			continue
		}
		for _, name := range []string{v1alpha1.WebhookURLKey, v1alpha1.WebhookKeyKey, v1alpha1.WebhookInternalURLKey} {
			if len(secret.Data[name]) == 0 {
				failed = errors.Join(failed, fmt.Errorf("the Secret %s has no %s", secret.Name, name))
			}
		}
		if id := secret.Annotations[v1alpha1.AnnotationIntegrationID]; id != strconv.FormatInt(source.Status.IntegrationID, 10) {
			failed = errors.Join(failed, fmt.Errorf("the Secret %s is for integration %s, want %d", secret.Name, id, source.Status.IntegrationID))
		}
	}
	return failed
}

// teamKey complains unless the team's own key, where it has one, is accepted for the team.
func (c Cluster) teamKey(ctx context.Context, server *v1alpha1.TerdutServer, team *v1alpha1.TerdutTeam) error {
	credentials := server.Status.Credentials
	if credentials == nil || credentials.Mode != v1alpha1.CredentialsScoped {
		return nil
	}
	api, err := c.with(ctx, server, team.Namespace, v1alpha1.TeamCredentialsSecretName(team.Name))
	if err != nil {
		return err
	}
	if _, err = api.GetEscalation(ctx, team.Status.TeamID); err != nil {
		return fmt.Errorf("use the team's own key: %w", err)
	}
	return nil
}

// keys complains about live keys of service accounts beyond one for each, and the one that waits to be revoked.
func keys(ctx context.Context, api *terdutapi.Client, server *v1alpha1.TerdutServer) error {
	accounts, err := api.ListServiceAccounts(ctx)
	if errors.Is(err, terdutapi.ErrRouteMissing) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list its service accounts: %w", err)
	}
	var retiring int64
	if c := server.Status.Credentials; c != nil && c.Retiring != nil {
		retiring = c.Retiring.KeyID
	}
	var failed error
	for _, account := range accounts {
		list, listErr := api.ListServiceAccountKeys(ctx, account.ID)
		if listErr != nil {
			return fmt.Errorf("list the keys of service account %q: %w", account.Name, listErr)
		}
		live := 0
		for _, key := range list {
			if key.ID != retiring {
				live++
			}
		}
		if live != 1 {
			failed = errors.Join(failed, fmt.Errorf("service account %q has %d live keys, want 1", account.Name, live))
		}
	}
	return failed
}
