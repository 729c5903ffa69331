package team

import (
	"context"
	"errors"
	"fmt"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// do carries out one step.
func (p *keyPass) do(ctx context.Context, next step) error {
	f := &p.facts
	switch next {
	case keyRefused:
		return outcome.Refused(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonNameConflict,
			"Secret %q exists and does not belong to this resource: rename or delete it, so that the team's key can go there",
			v1alpha1.TeamCredentialsSecretName(p.team.Name))
	case keyWaits:
		return outcome.Waiting(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonProgressing,
			"Secret %q is being deleted: it is made again when it is gone", p.secret.Name)
	case recordIntent:
		return p.record(ctx, &v1alpha1.TeamCredentials{SecretName: v1alpha1.TeamCredentialsSecretName(p.team.Name), Account: f.name})
	case deleteFormer:
		return p.revoke(ctx, f.former.id)
	case deleteAccount:
		p.lost = p.wanted && f.record.KeyID != 0
		return p.revoke(ctx, f.account.id)
	case createAccount:
		return p.create(ctx)
	case deleteSecret:
		return p.remove(ctx)
	case forget:
		return p.leave(ctx)
	case recordIDs:
		done := *f.record
		done.AccountID, done.KeyID = f.secret.accountID, f.secret.keyID
		return p.record(ctx, &done)
	}
	return p.write(ctx, next)
}

// write carries out the steps that are an apply of the Secret.
func (p *keyPass) write(ctx context.Context, next step) error {
	f := &p.facts
	switch next {
	case makeSecret, emptySecret:
		return p.apply(ctx, "", 0, 0)
	case chooseKey:
		p.chose = true
		return p.apply(ctx, connect.ChooseKey(), 0, 0)
	case acknowledge:
		return p.issued(ctx, p.key(), f.account.id, f.account.keys[0])
	default: // refresh
		return p.apply(ctx, p.key(), f.secret.accountID, f.secret.keyID)
	}
}

// key is what stands in the Secret.
func (p *keyPass) key() string { return string(p.secret.Data[v1alpha1.CredentialsKey]) }

// create makes the account and publishes its key. A name that is taken
// meanwhile is looked at again.
func (p *keyPass) create(ctx context.Context) error {
	request := terdutapi.CreateServiceAccountRequest{Name: p.facts.name, TeamID: &p.facts.teamID}
	if p.facts.chosen {
		request.Key = p.key()
	}
	made, err := p.at.API.CreateServiceAccount(ctx, request)
	if errors.Is(err, terdutapi.ErrConflict) {
		return nil
	}
	if err != nil {
		return explain(err, "make a service account for the team")
	}
	return p.issued(ctx, made.Key.Key, made.ID, made.Key.ID)
}

// issued publishes a key with the IDs of key and account, and says so.
func (p *keyPass) issued(ctx context.Context, key string, accountID, keyID int64) error {
	if err := p.apply(ctx, key, accountID, keyID); err != nil {
		return err
	}
	name := v1alpha1.TeamCredentialsSecretName(p.team.Name)
	event := status.Event{Reason: v1alpha1.ReasonKeyIssued,
		Message: fmt.Sprintf("a key (%d) that reaches this team only is in Secret %q", keyID, name)}
	if p.lost {
		event = status.Event{Warning: true, Reason: v1alpha1.EventRotated,
			Message: fmt.Sprintf("the key in Secret %q was lost, changed or revoked: the old one is revoked and a new one (%d) issued", name, keyID)}
	}
	status.Emit(p.Recorder, p.team, event)
	return nil
}

// revoke deletes an account and every key of it.
func (p *keyPass) revoke(ctx context.Context, id int64) error {
	err := p.at.API.DeleteServiceAccount(ctx, id)
	if err != nil && !errors.Is(err, terdutapi.ErrNotFound) {
		return explain(err, "delete the team's service account")
	}
	p.deleted[id] = true
	return nil
}

// apply writes the Secret, of exactly the version that was read.
func (p *keyPass) apply(ctx context.Context, key string, accountID, keyID int64) error {
	_, err := p.Engine.ApplySecret(ctx, p.team, p.secret, p.intent(key, accountID, keyID))
	return err
}

// remove deletes the Secret, of exactly the version that was read.
func (p *keyPass) remove(ctx context.Context) error { return p.DeleteSecret(ctx, p.secret) }

// leave takes the record away, after everything that it stands for.
func (p *keyPass) leave(ctx context.Context) error {
	secret := p.facts.record.SecretName
	if err := p.record(ctx, nil); err != nil {
		return err
	}
	status.Emit(p.Recorder, p.team, status.Event{Reason: v1alpha1.EventKeyRevoked,
		Message: fmt.Sprintf("the team's key is revoked, and Secret %q deleted", secret)})
	return nil
}

// record writes down, before or after an effect, what there is.
func (p *keyPass) record(ctx context.Context, next *v1alpha1.TeamCredentials) error {
	previous := p.team.Status.Credentials
	p.team.Status.Credentials = next
	config, err := p.kind.Status(p.team)
	if err == nil {
		err = p.SaveStatus(ctx, p.team, config)
	}
	if err != nil {
		p.team.Status.Credentials = previous
	}
	return err
}
