package team

import (
	"slices"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// step is the next single effect on a team's key.
type step int

const (
	// keyDone: everything is as it should be.
	keyDone step = iota
	// keyRefused: the Secret belongs to somebody else.
	keyRefused
	// keyWaits: the Secret is being deleted.
	keyWaits
	// recordIntent writes down what is about to be made.
	recordIntent
	// makeSecret makes the Secret, empty.
	makeSecret
	// emptySecret takes a key out of the Secret whose account is gone.
	emptySecret
	// chooseKey writes a key of our choice into the Secret.
	chooseKey
	// createAccount makes the account with its key, and publishes that.
	createAccount
	// acknowledge notes on the Secret that the account has the chosen key.
	acknowledge
	// deleteFormer deletes the account of a record that is not ours any more.
	deleteFormer
	// deleteAccount deletes the account, and every key of it.
	deleteAccount
	// refresh writes what stands beside the key.
	refresh
	// recordIDs writes down what was made.
	recordIDs
	// deleteSecret deletes the Secret.
	deleteSecret
	// forget takes the record away.
	forget
)

// keyFacts are what the decision rests on. There is no key among them.
type keyFacts struct {
	// wanted is true while the team is to have a key.
	wanted bool
	// chosen is true when the server takes a key of our choice.
	chosen bool
	// fresh is true when this very pass has chosen the key in the Secret: an
	// account that is there already was made with another one.
	fresh bool
	// teamID is the team on the server.
	teamID int64
	// name is that of the account.
	name   string
	record *v1alpha1.TeamCredentials
	secret secretFacts
	// account of that name, former that of a record with another name; nil
	// when the server has none.
	account, former *accountFacts
}

type secretFacts struct {
	exists, foreign, going bool
	// whole is true when a key of ours is in it.
	whole bool
	// current is true when all else in it is as it should be.
	current bool
	// accountID and keyID say whose key it is; 0 for one that was chosen and
	// not acknowledged.
	accountID, keyID int64
}

type accountFacts struct {
	id, teamID int64
	// keys are the IDs of its keys, unless they cannot be listed.
	keys   []int64
	listed bool
}

// decide says what to do next about a team's key. It is pure. An account whose
// key does not stand in our Secret is deleted and made again: nobody can use it,
// or somebody else can.
func decide(f keyFacts) step {
	if !f.wanted {
		return decideLeave(f)
	}
	switch {
	case f.secret.foreign:
		return keyRefused
	case f.secret.going:
		return keyWaits
	case f.former != nil:
		return deleteFormer
	case f.record == nil || f.record.Account != f.name:
		return recordIntent
	case !f.secret.exists:
		return makeSecret
	case f.account == nil:
		return decideCreate(f)
	}
	return decideKept(f)
}

// decideKept looks at an account that there is.
func decideKept(f keyFacts) step {
	switch {
	case f.unacknowledged():
		return acknowledge
	case !f.agrees():
		return deleteAccount
	case !f.secret.current:
		return refresh
	case f.record.AccountID != f.secret.accountID || f.record.KeyID != f.secret.keyID:
		return recordIDs
	}
	return keyDone
}

func decideCreate(f keyFacts) step {
	if f.chosen && (!f.secret.whole || f.secret.accountID != 0) {
		return chooseKey
	}
	if !f.chosen && f.secret.whole {
		// Whose key it was tell IDs, and a server that came back from a backup
		// gives them out again: cut before the new key is written, the old one
		// would pass for it.
		return emptySecret
	}
	return createAccount
}

// decideLeave undoes everything: first what gives access, last the record.
func decideLeave(f keyFacts) step {
	ours := f.secret.exists && !f.secret.foreign
	switch {
	case f.former != nil:
		return deleteFormer
	case f.account != nil && (f.record != nil || ours):
		return deleteAccount
	case ours && !f.secret.going:
		return deleteSecret
	case f.record != nil:
		return forget
	}
	return keyDone
}

// unacknowledged tells the crash between the call that made the account with a
// chosen key and the note of that.
func (f *keyFacts) unacknowledged() bool {
	return f.chosen && !f.fresh && f.secret.whole && f.secret.accountID == 0 &&
		f.account.teamID == f.teamID && f.account.listed && len(f.account.keys) == 1
}

// agrees tells whether the account is the team's and its key the one in the
// Secret.
func (f *keyFacts) agrees() bool {
	return f.account.teamID == f.teamID && f.secret.whole && f.secret.accountID == f.account.id &&
		(!f.account.listed || slices.Contains(f.account.keys, f.secret.keyID))
}
