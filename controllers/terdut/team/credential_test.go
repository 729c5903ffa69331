package team

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

const named = "tenant.team-terdut-01234567"

func TestDecide(t *testing.T) {
	intended := &v1alpha1.TeamCredentials{Account: named}
	recorded := &v1alpha1.TeamCredentials{Account: named, AccountID: 5, KeyID: 6}
	account := func(change ...func(*accountFacts)) *accountFacts {
		a := &accountFacts{id: 5, teamID: 3, keys: []int64{6}, listed: true}
		for _, f := range change {
			f(a)
		}
		return a
	}
	empty := secretFacts{exists: true}
	good := secretFacts{exists: true, whole: true, current: true, accountID: 5, keyID: 6}
	drafted := secretFacts{exists: true, whole: true, current: true}
	with := func(s secretFacts, change func(*secretFacts)) secretFacts { change(&s); return s }
	for _, c := range []struct {
		name  string
		facts keyFacts
		want  step
	}{
		{"nothing yet", keyFacts{wanted: true}, recordIntent},
		{"the intent stands", keyFacts{wanted: true, record: intended}, makeSecret},
		{"an empty Secret stands", keyFacts{wanted: true, record: intended, secret: empty}, createAccount},
		{"crash before the key was published", keyFacts{wanted: true, record: intended, secret: empty, account: account()}, deleteAccount},
		{"published", keyFacts{wanted: true, record: intended, secret: good, account: account()}, recordIDs},
		{"settled", keyFacts{wanted: true, record: recorded, secret: good, account: account()}, keyDone},
		{"settled, keys not listed", keyFacts{wanted: true, record: recorded, secret: good, account: account(func(a *accountFacts) { a.keys, a.listed = nil, false })}, keyDone},

		{"a key may be chosen", keyFacts{wanted: true, chosen: true, record: intended, secret: empty}, chooseKey},
		{"it is chosen", keyFacts{wanted: true, chosen: true, record: intended, secret: drafted}, createAccount},
		{"crash after the call", keyFacts{wanted: true, chosen: true, record: intended, secret: drafted, account: account()}, acknowledge},
		{"chosen just now, and an account of before", keyFacts{wanted: true, chosen: true, fresh: true, record: intended, secret: drafted, account: account()}, deleteAccount},
		{"chosen, and two keys", keyFacts{wanted: true, chosen: true, record: intended, secret: drafted, account: account(func(a *accountFacts) { a.keys = []int64{6, 7} })}, deleteAccount},
		{"chosen, of another team", keyFacts{wanted: true, chosen: true, record: intended, secret: drafted, account: account(func(a *accountFacts) { a.teamID = 4 })}, deleteAccount},
		{"chosen, and a key of before", keyFacts{wanted: true, chosen: true, record: recorded, secret: good}, chooseKey},

		{"Secret lost", keyFacts{wanted: true, record: recorded, account: account()}, makeSecret},
		{"Secret lost, made again", keyFacts{wanted: true, record: recorded, secret: empty, account: account()}, deleteAccount},
		{"an old Secret restored", keyFacts{wanted: true, record: recorded, secret: with(good, func(s *secretFacts) { s.accountID = 4 }), account: account()}, deleteAccount},
		{"key changed by somebody", keyFacts{wanted: true, record: recorded, secret: with(good, func(s *secretFacts) { s.whole = false }), account: account()}, deleteAccount},
		{"key revoked by somebody", keyFacts{wanted: true, record: recorded, secret: good, account: account(func(a *accountFacts) { a.keys = nil })}, deleteAccount},
		{"account deleted by somebody", keyFacts{wanted: true, record: recorded, secret: good}, emptySecret},
		{"and its key is out of the Secret", keyFacts{wanted: true, record: recorded, secret: empty}, createAccount},
		{"the team was made again", keyFacts{wanted: true, record: recorded, secret: good, account: account(func(a *accountFacts) { a.teamID = 2 })}, deleteAccount},
		{"the address changed", keyFacts{wanted: true, record: recorded, secret: with(good, func(s *secretFacts) { s.current = false }), account: account()}, refresh},
		{"status lost", keyFacts{wanted: true, secret: good, account: account()}, recordIntent},
		{"a record of another TerdutTeam", keyFacts{wanted: true, record: &v1alpha1.TeamCredentials{Account: "other"}, former: account()}, deleteFormer},
		{"it is cleaned up", keyFacts{wanted: true, record: &v1alpha1.TeamCredentials{Account: "other"}}, recordIntent},
		{"a Secret of somebody else", keyFacts{wanted: true, record: recorded, secret: secretFacts{exists: true, foreign: true}}, keyRefused},
		{"the Secret is going", keyFacts{wanted: true, record: recorded, secret: with(good, func(s *secretFacts) { s.going = true }), account: account()}, keyWaits},

		{"not wanted, never was", keyFacts{}, keyDone},
		{"not wanted, somebody else's Secret", keyFacts{secret: secretFacts{exists: true, foreign: true}}, keyDone},
		{"not wanted, somebody else's account", keyFacts{account: account()}, keyDone},
		{"leaving", keyFacts{record: recorded, secret: good, account: account()}, deleteAccount},
		{"leaving, account gone", keyFacts{record: recorded, secret: good}, deleteSecret},
		{"leaving, Secret going", keyFacts{record: recorded, secret: with(good, func(s *secretFacts) { s.going = true })}, forget},
		{"leaving, both gone", keyFacts{record: recorded}, forget},
		{"leaving, status lost", keyFacts{secret: good, account: account()}, deleteAccount},
		{"leaving, a Secret of somebody else", keyFacts{record: recorded, secret: secretFacts{exists: true, foreign: true}}, forget},
		{"leaving, a record of another TerdutTeam", keyFacts{record: recorded, former: account()}, deleteFormer},
	} {
		c.facts.name, c.facts.teamID = named, 3
		if got := decide(c.facts); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestLastID: an account is doubted to be gone as soon as the Secret names it,
// which is before the status does.
func TestLastID(t *testing.T) {
	made := secretFacts{exists: true, whole: true, accountID: 5, keyID: 6}
	for _, c := range []struct {
		name   string
		record *v1alpha1.TeamCredentials
		want   int64
	}{
		{"nothing recorded", nil, 0},
		{"a record of another TerdutTeam", &v1alpha1.TeamCredentials{Account: "other", AccountID: 4}, 0},
		{"recorded", &v1alpha1.TeamCredentials{Account: named, AccountID: 4}, 4},
		{"made, and not recorded yet", &v1alpha1.TeamCredentials{Account: named}, 5},
	} {
		f := keyFacts{name: named, record: c.record, secret: made}
		if got := f.lastID(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAccountName(t *testing.T) {
	team := &v1alpha1.TerdutTeam{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "team", UID: "01234567-89ab"}}
	if got := accountName(team); got != named {
		t.Errorf("the account is called %q", got)
	}
	team.Name = "a-name-that-is-longer-than-any-account-should-be-called"
	if got := accountName(team); got != "tenant.a-name-that-is-longer-than-any-ac-terdut-01234567" {
		t.Errorf("the account with a long name is called %q", got)
	}
}
