package team

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
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// keyPass is one run over the key of one team.
type keyPass struct {
	*keeper
	at     attach.Access
	team   *v1alpha1.TerdutTeam
	wanted bool

	facts  keyFacts
	secret *corev1.Secret
	// lost is true once an account was deleted because its key was not in the
	// Secret.
	lost bool
	// deleted are the accounts that this pass has deleted.
	deleted map[int64]bool
	// chose is true once this pass has written a key of its choice.
	chose bool
}

// look gathers what the decision rests on.
func (p *keyPass) look(ctx context.Context, read func(context.Context) (*corev1.Secret, error)) error {
	secret, err := read(ctx)
	if err != nil {
		return err
	}
	f := keyFacts{
		wanted: p.wanted, chosen: offers(p.at.Server, v1alpha1.CapabilityChosenKeys), fresh: p.chose,
		name: accountName(p.team), record: p.team.Status.Credentials,
	}
	if r := p.team.Status.Remote; r != nil {
		f.teamID = r.ID
	}
	if f.secret, err = p.describe(secret); err != nil {
		return err
	}
	p.secret, p.facts = secret, f
	ours := f.secret.exists && !f.secret.foreign
	if !p.wanted && f.record == nil && !ours {
		return nil // there is nothing to ask about
	}
	return p.lookForAccounts(ctx)
}

// lookForAccounts asks the server for the account of the team, and for that of
// a record with another name.
func (p *keyPass) lookForAccounts(ctx context.Context) (err error) {
	f := &p.facts
	if f.account, err = p.account(ctx, f.name); err != nil {
		return err
	}
	if f.account == nil {
		if f.account, err = p.unseen(ctx); err != nil {
			return err
		}
	}
	if f.record == nil || f.record.Account == f.name {
		return nil
	}
	former, err := p.account(ctx, f.record.Account)
	if err == nil && former != nil && former.teamID == f.teamID {
		f.former = former // whoever holds the team holds its accounts
	}
	return err
}

// offers tells whether the server is known to have an optional part.
func offers(server *v1alpha1.TerdutServer, name string) bool {
	return slices.ContainsFunc(server.Status.Capabilities, func(c v1alpha1.ServerCapability) bool {
		return c.Name == name && c.State == v1alpha1.CapabilityPresent
	})
}

// account looks an account up, with the IDs of its keys where the server lists
// them.
func (p *keyPass) account(ctx context.Context, name string) (*accountFacts, error) {
	found, err := p.at.API.FindServiceAccount(ctx, name)
	if err != nil || found == nil {
		return nil, explain(err, "look for the service account of the team")
	}
	a := &accountFacts{id: found.ID}
	if found.TeamID != nil {
		a.teamID = *found.TeamID
	}
	keys, err := p.keysOf(ctx, found.ID)
	switch {
	case errors.Is(err, terdutapi.ErrRouteMissing):
		return a, nil
	case errors.Is(err, terdutapi.ErrNotFound):
		return nil, nil // it has gone meanwhile
	case err != nil:
		return nil, explain(err, "list the keys of the team's service account")
	}
	a.listed = true
	for i := range keys {
		a.keys = append(a.keys, keys[i].ID)
	}
	return a, nil
}

// keysOf lists the keys of an account. A list that is empty by mistake would cost
// the team a key that works, so that one is asked for twice.
func (p *keyPass) keysOf(ctx context.Context, id int64) ([]terdutapi.ServiceAccountKey, error) {
	keys, err := p.at.API.ListServiceAccountKeys(ctx, id)
	if err != nil || len(keys) > 0 {
		return keys, err
	}
	return p.at.API.ListServiceAccountKeys(ctx, id)
}

// unseen asks a second question about an account that status or Secret name and
// that is not shown: a list that is empty by mistake looks like that of a server
// without accounts, and what is believed gone is made again. Where keys cannot be
// listed and the account is to go, it is deleted on the record's word.
func (p *keyPass) unseen(ctx context.Context) (*accountFacts, error) {
	id := p.facts.lastID()
	if id == 0 || p.deleted[id] {
		return nil, nil
	}
	_, err := p.at.API.ListServiceAccountKeys(ctx, id)
	switch {
	case errors.Is(err, terdutapi.ErrNotFound):
		return nil, nil
	case errors.Is(err, terdutapi.ErrRouteMissing) && p.wanted:
		return nil, nil
	case errors.Is(err, terdutapi.ErrRouteMissing):
		return &accountFacts{id: id}, nil
	case err != nil:
		return nil, explain(err, "make sure that the team's service account is gone")
	}
	return nil, outcome.Unknown(v1alpha1.ConditionCredentialsReady, v1alpha1.ReasonUnexpectedAnswer,
		"look for the service account of the team: the list lacks account %d, which the server has", id)
}

// lastID is the account of the wanted name that there was the last time; 0 when
// there was none.
func (f *keyFacts) lastID() int64 {
	switch r := f.record; {
	case r == nil || r.Account != f.name:
		return 0
	case r.AccountID != 0:
		return r.AccountID
	}
	return f.secret.accountID // it was made, and is about to be recorded
}

func (p *keyPass) cached(ctx context.Context) (*corev1.Secret, error) {
	return p.Engine.CachedSecret(ctx, p.team.Namespace, v1alpha1.TeamCredentialsSecretName(p.team.Name))
}

func (p *keyPass) live(ctx context.Context) (*corev1.Secret, error) {
	return p.Engine.ReadSecret(ctx, p.team.Namespace, v1alpha1.TeamCredentialsSecretName(p.team.Name))
}

// describe tells about a Secret what the decision needs, and nothing of the
// key. A key that another field manager has put there is not ours, whatever
// stands beside it.
func (p *keyPass) describe(secret *corev1.Secret) (secretFacts, error) {
	if secret == nil {
		return secretFacts{}, nil
	}
	f := secretFacts{exists: true, foreign: !metav1.IsControlledBy(secret, p.team), going: secret.DeletionTimestamp != nil}
	if f.foreign {
		return f, nil
	}
	f.accountID, f.keyID = idIn(secret, v1alpha1.AnnotationUserID), idIn(secret, v1alpha1.AnnotationKeyID)
	key := string(secret.Data[v1alpha1.CredentialsKey])
	if key == "" {
		return f, nil
	}
	foreign, err := p.Engine.ForeignFields(p.team, secret, p.intent(key, f.accountID, f.keyID))
	if err != nil {
		return f, err
	}
	f.whole = !slices.ContainsFunc(foreign, func(d apply.FieldDrift) bool {
		return d.Path == "data" || d.Path == "data."+v1alpha1.CredentialsKey
	})
	f.current = len(foreign) == 0 &&
		string(secret.Data[v1alpha1.CredentialsURLKey]) == connect.PublicURL(p.at.Server) &&
		string(secret.Data[v1alpha1.CredentialsInternalURLKey]) == connect.BaseURL(p.at.Server)
	return f, nil
}

func idIn(secret *corev1.Secret, annotation string) int64 {
	id, err := strconv.ParseInt(secret.Annotations[annotation], 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// intent is the Secret with a key, or with none yet. The IDs are 0 while they
// are not known, and not left out: what somebody else wrote there would stay.
func (p *keyPass) intent(key string, accountID, keyID int64) apply.SecretIntent {
	intent := apply.SecretIntent{
		Name: v1alpha1.TeamCredentialsSecretName(p.team.Name),
		Labels: map[string]string{
			v1alpha1.LabelManagedBy:   v1alpha1.ManagedBy,
			v1alpha1.LabelCredentials: v1alpha1.CredentialsOfTeam,
		},
	}
	if key == "" {
		return intent
	}
	intent.Data = map[string][]byte{
		v1alpha1.CredentialsKey:            []byte(key),
		v1alpha1.CredentialsURLKey:         []byte(connect.PublicURL(p.at.Server)),
		v1alpha1.CredentialsInternalURLKey: []byte(connect.BaseURL(p.at.Server)),
	}
	intent.Annotations = map[string]string{
		v1alpha1.AnnotationUserID:         strconv.FormatInt(accountID, 10),
		v1alpha1.AnnotationKeyID:          strconv.FormatInt(keyID, 10),
		v1alpha1.AnnotationServiceAccount: "true",
	}
	return intent
}
