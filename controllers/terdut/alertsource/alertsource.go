// Package alertsource makes a TerdutAlertSource an integration of its team,
// and keeps the key that the server gives out once in a Secret.
package alertsource

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	ac "git.ryuvia.com/niklas/terdut-operator/applyconfig/terdut/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// body is an integration without its name.
type body struct {
	kind string
}

// yield is what only the answer to the create call holds.
type yield struct {
	url, key string
}

type kind struct {
	attach.Deps
}

func (k *kind) Resolve(ctx context.Context, s *v1alpha1.TerdutAlertSource) (remote.Place, attach.Access, error) {
	return k.Resolver.Child(ctx, s.Namespace, s.Spec.TeamRef.Name)
}

func (k *kind) Recorded(ctx context.Context, s *v1alpha1.TerdutAlertSource) (remote.Place, attach.Access, error) {
	return k.Resolver.RecordedChild(ctx, s.Namespace, s.Spec.TeamRef.Name, s.Status.Remote)
}

func (k *kind) Desired(
	_ context.Context, _ attach.Access, s *v1alpha1.TerdutAlertSource, _ remote.Freshness,
) (remote.Want[body], error) {
	return remote.Want[body]{Name: s.Spec.Name, Body: body{kind: string(s.Spec.Kind)}}, nil
}

// List returns the team's integrations. Only those whose ID a webhook Secret of
// the source bears have a key that we hold.
func (k *kind) List(
	ctx context.Context, at attach.Access, s *v1alpha1.TerdutAlertSource, as remote.Freshness,
) ([]remote.Thing[body], error) {
	integrations, err := at.API.Integrations(ctx, at.TeamID, as)
	if err != nil {
		return nil, at.OfTeam(ctx, err, "list integrations")
	}
	out := make([]remote.Thing[body], 0, len(integrations))
	for i := range integrations {
		out = append(out, thing(&integrations[i]))
	}
	if s.DeletionTimestamp.IsZero() { // a deletion does not ask for keys, and reads no Secret
		if err = k.keys(ctx, at, s, out, as); err != nil {
			return nil, err
		}
	}
	return out, at.ProveGone(ctx, s.Status.Remote, remote.IDs(out), as, func(ctx context.Context) ([]int64, error) {
		return again(ctx, at, s)
	})
}

// keys tells of each integration whether we hold its key, or can come by it.
func (k *kind) keys(
	ctx context.Context, at attach.Access, s *v1alpha1.TerdutAlertSource, things []remote.Thing[body], as remote.Freshness,
) error {
	held, err := k.heldKeys(ctx, s)
	if err != nil {
		return err
	}
	for i := range things {
		things[i].KeyHeld = slices.ContainsFunc(held, named(&things[i]).is)
		things[i].KeyLost = !things[i].KeyHeld
	}
	if as == remote.Snapshot {
		return nil // nothing is done on the strength of a snapshot
	}
	if err = doubt(ctx, at, s, held, things); err != nil {
		return err
	}
	return k.offer(ctx, s, things)
}

// Compare: the server cannot change the kind of an integration.
func (k *kind) Compare(want, got body) remote.Difference {
	if want.kind == got.kind {
		return remote.Difference{}
	}
	return remote.Difference{Fields: []string{"kind"}, Replace: true}
}

// Create makes sure of the Secret before the call whose answer belongs into
// it: what could keep it from being written shows while there is no key yet.
func (k *kind) Create(
	ctx context.Context, at attach.Access, s *v1alpha1.TerdutAlertSource, want remote.Want[body],
) (remote.Thing[body], error) {
	if err := k.prepare(ctx, s); err != nil {
		return remote.Thing[body]{}, err
	}
	made, err := at.API.CreateIntegration(ctx, at.TeamID, terdutapi.CreateIntegrationRequest{
		Kind: want.Body.kind, Name: want.Name,
	})
	if err != nil {
		return remote.Thing[body]{}, connect.Explain(err, v1alpha1.ConditionSynced, fmt.Sprintf("create integration %q", want.Name))
	}
	t := remote.Thing[body]{
		ID: made.ID, Name: made.Name, CreatedAt: attach.Time(made.CreatedAt), Body: body{kind: made.Kind},
		KeyLost: true, Yield: yield{url: answered(made.URL, at.Server), key: made.Key},
	}
	return t, nil
}

func (k *kind) Update(
	ctx context.Context, at attach.Access, _ *v1alpha1.TerdutAlertSource, want remote.Want[body], got remote.Thing[body],
) (remote.Thing[body], error) {
	renamed, err := at.API.RenameIntegration(ctx, at.TeamID, got.ID, want.Name)
	if err != nil {
		return got, connect.Explain(err, v1alpha1.ConditionSynced, fmt.Sprintf("rename integration %q to %q", got.Name, want.Name))
	}
	now := thing(renamed)
	now.KeyLost, now.KeyHeld = got.KeyLost, got.KeyHeld
	return now, nil
}

// Delete deletes an integration. One that was begun, and is taken back because
// somebody else has its name, has its Secret deleted first: nobody is to find a
// key there that opens nothing.
func (k *kind) Delete(ctx context.Context, at attach.Access, s *v1alpha1.TerdutAlertSource, id int64) error {
	if begun := s.Status.PendingCreate; begun != nil && begun.ID == id && s.DeletionTimestamp == nil {
		if err := k.withdraw(ctx, s, id); err != nil {
			return err
		}
	}
	err := at.API.DeleteIntegration(ctx, at.TeamID, id)
	return connect.Explain(err, v1alpha1.ConditionSynced, fmt.Sprintf("delete integration %d", id))
}

func (k *kind) Load(s *v1alpha1.TerdutAlertSource) remote.State[body] {
	state := attach.Load[body](&s.Status.RemoteStatus)
	state.Rotated = s.Status.Rotated
	return state
}

func (k *kind) Store(s *v1alpha1.TerdutAlertSource, state remote.State[body]) {
	attach.Store(&s.Status.RemoteStatus, state)
	s.Status.IntegrationID, s.Status.Rotated = 0, state.Rotated
	if state.Record == nil {
		s.Status.WebhookURLSecretRef = nil
		return
	}
	s.Status.IntegrationID = state.Record.ID
	if s.Status.WebhookURLSecretRef == nil { // else place knows when that changes
		s.Status.WebhookURLSecretRef = &v1alpha1.LocalRef{Name: s.WebhookSecret()}
	}
}

func (k *kind) Status(s *v1alpha1.TerdutAlertSource) (runtime.ApplyConfiguration, error) {
	config, err := status.Into[ac.TerdutAlertSourceStatusApplyConfiguration](s.Status)
	if err != nil {
		return nil, err
	}
	return ac.TerdutAlertSource(s.Name, s.Namespace).WithUID(s.UID).WithResourceVersion(s.ResourceVersion).WithStatus(config), nil
}

func thing(i *terdutapi.Integration) remote.Thing[body] {
	return remote.Thing[body]{ID: i.ID, Name: i.Name, CreatedAt: attach.Time(i.CreatedAt), Body: body{kind: i.Kind}}
}
