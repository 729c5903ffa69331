package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// holder is who a key belongs to: a user, or a service account of ours. Its id
// is 0 when it is an account that does not exist yet.
type holder struct {
	id      int64
	account bool
}

func (c *credential) holder() holder { return holder{id: c.userID, account: c.account} }

// accountName is the name of the operator's service account, and what the names
// of all keys that it mints begin with. It tells the clusters and servers apart
// that use one terdut-server.
func accountName(server *v1alpha1.TerdutServer) string {
	uid := string(server.UID)
	return fmt.Sprintf("%s:%s/%s:%s", operatorUser, server.Namespace, server.Name, uid[:min(8, len(uid))])
}

// chooseKey is a key of our choice, or empty where the server is known not to
// take one.
func (r *Reconciler) chooseKey(server *v1alpha1.TerdutServer) string {
	if r.capability(server, v1alpha1.CapabilityChosenKeys) == v1alpha1.CapabilityAbsent {
		return ""
	}
	return connect.ChooseKey()
}

// learnChosen notes whether the server took the key that was chosen.
func (r *Reconciler) learnChosen(server *v1alpha1.TerdutServer, chosen, got string) {
	if chosen != "" {
		r.learn(server, v1alpha1.CapabilityChosenKeys, chosen == got)
	}
}

// target is who the next key is to belong to: the operator's service account
// where the server has those, otherwise the user of the key that there is. It
// is nil when neither is known.
func (r *Reconciler) target(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, c *credential) (*holder, error) {
	if r.capability(server, v1alpha1.CapabilityServiceAccounts) != v1alpha1.CapabilityPresent {
		if c.userID == 0 {
			return nil, nil
		}
		return &holder{id: c.userID, account: c.account}, nil
	}
	account, err := api.FindServiceAccount(ctx, accountName(server))
	if err != nil {
		return nil, connect.Explain(err, v1alpha1.ConditionBootstrapped, "look for the operator's service account")
	}
	if account == nil {
		return &holder{account: true}, nil
	}
	return &holder{id: account.ID, account: true}, nil
}

// mintFor makes a key for a holder. draft says under which name, and holds the
// key that was chosen for it, if one was.
func mintFor(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, to holder, draft credential) (*credential, error) {
	minted := draft
	switch {
	case to.account && to.id == 0:
		made, err := api.CreateServiceAccount(ctx, terdutapi.CreateServiceAccountRequest{Name: accountName(server), Key: draft.key})
		if err != nil {
			return nil, err
		}
		minted.name = "" // the server has chosen one
		minted.userID, minted.keyID, minted.key = made.ID, made.Key.ID, made.Key.Key
	case to.account:
		made, err := api.CreateServiceAccountKey(ctx, to.id, terdutapi.CreateKeyRequest{Name: draft.name, Key: draft.key})
		if err != nil {
			return nil, err
		}
		minted.keyID, minted.key = made.ID, made.Key
	default:
		made, err := api.CreateAPIKey(ctx, to.id, terdutapi.CreateKeyRequest{Name: draft.name, Key: draft.key})
		if err != nil {
			return nil, err
		}
		minted.keyID, minted.key = made.ID, made.Key
	}
	return &minted, nil
}

// revoke ends a key. One that is gone already is no error.
func revoke(ctx context.Context, api *terdutapi.Client, of holder, keyID int64) error {
	var err error
	if of.account {
		err = api.DeleteServiceAccountKey(ctx, of.id, keyID)
	} else {
		err = api.DeleteAPIKey(ctx, of.id, keyID)
	}
	if errors.Is(err, terdutapi.ErrNotFound) {
		return nil
	}
	return err
}

// listed is a key that the server lists.
type listed struct {
	id   int64
	name string
}

// keysOf lists the keys of a holder, without the keys. One that is known has a key
// somewhere, so that an empty list is asked for twice: what it hides stays valid.
func (r *Reconciler) keysOf(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, of holder) ([]listed, error) {
	keys, err := listKeys(ctx, api, of)
	if err == nil && len(keys) == 0 {
		keys, err = listKeys(ctx, api, of)
	}
	if err == nil {
		r.learn(server, v1alpha1.CapabilityListKeys, true)
	}
	return keys, err
}

func listKeys(ctx context.Context, api *terdutapi.Client, of holder) ([]listed, error) {
	var keys []listed
	if of.account {
		found, err := api.ListServiceAccountKeys(ctx, of.id)
		if err != nil {
			return nil, err
		}
		for _, k := range found {
			keys = append(keys, listed{id: k.ID, name: k.Name})
		}
		return keys, nil
	}
	found, err := api.ListAPIKeys(ctx, of.id)
	if err != nil {
		return nil, err
	}
	for _, k := range found {
		keys = append(keys, listed{id: k.ID, name: k.Name})
	}
	return keys, nil
}

// identifyKey finds the ID of a key among those of its holder, without the ones
// that are known to be others: by its name, or because it alone is left. It is
// 0 when that cannot be told.
func identifyKey(keys []listed, c *credential, others []int64, prefix string) int64 {
	if c.name != "" {
		for _, k := range keys {
			if k.name == c.name {
				return k.id
			}
		}
		return 0
	}
	left := slices.DeleteFunc(slices.Clone(keys), func(k listed) bool {
		minted := !c.account && strings.HasPrefix(k.name, prefix)
		return minted || slices.Contains(others, k.id)
	})
	if len(left) != 1 {
		return 0
	}
	return left[0].id
}

// sweep revokes keys of a holder that we have minted and that no Secret and no
// status knows: a crash has left them behind. On a service account of ours all
// keys are ours, on a user those that bear our name. Nothing is revoked while
// it is not certain which key is which.
func (r *Reconciler) sweep(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, of holder) error {
	keys, err := r.keysOf(ctx, server, api, of)
	if errors.Is(err, terdutapi.ErrRouteMissing) || errors.Is(err, terdutapi.ErrForbidden) {
		return errNoList
	}
	if err != nil {
		return connect.Explain(err, v1alpha1.ConditionBootstrapped, "list the operator's keys")
	}
	// After the list: a key that is written meanwhile is not in it.
	p, err := r.pair(ctx, server)
	if err != nil {
		return err
	}
	prefix := accountName(server)
	keep, certain := spared(server, p, keys, of, prefix)
	if !certain {
		return nil
	}
	lost := slices.DeleteFunc(keys, func(k listed) bool {
		return slices.Contains(keep, k.id) || !of.account && !strings.HasPrefix(k.name, prefix)
	})
	if len(lost) == 0 {
		return nil
	}
	// A status of before the last exchange does not know which key is in its grace.
	if err = r.proveLatest(ctx, server); err != nil {
		return err
	}
	for _, k := range lost {
		if err = revoke(ctx, api, of, k.id); err != nil {
			return connect.Explain(err, v1alpha1.ConditionBootstrapped, "revoke a key that nothing holds")
		}
		status.Emit(r.Recorder, server, status.Event{
			Reason:  v1alpha1.EventRevoked,
			Message: fmt.Sprintf("revoked key %d of the operator's, which was made before an interruption and is held nowhere", k.id),
		})
	}
	return nil
}

// errNoList says that a server does not list keys.
var errNoList = errors.New("the server does not list keys")

// spared are the IDs of the keys that are in use or on their way out, and
// whether they are known completely.
func spared(server *v1alpha1.TerdutServer, p *pair, keys []listed, of holder, prefix string) (ids []int64, certain bool) {
	if s := server.Status.Credentials; s != nil && s.Retiring != nil {
		ids = append(ids, s.Retiring.KeyID)
	}
	main, next := credentialOf(p.main), credentialOf(p.next)
	ids = append(ids, main.keyID, next.keyID)
	for _, c := range []*credential{&main, &next} {
		if c.key == "" || c.keyID != 0 || !c.belongs(of) || isPending(c, p) {
			continue
		}
		found := identifyKey(keys, c, ids, prefix)
		if bootstrapped := !c.account && c.name == ""; found == 0 && !bootstrapped {
			return nil, false
		}
		ids = append(ids, found)
	}
	return ids, true
}

// belongs tells whether a key is of that holder, as far as that is known.
func (c *credential) belongs(of holder) bool {
	return of.account == c.account && (c.userID == 0 || c.userID == of.id)
}

// isPending tells a key that is chosen and that the server has not confirmed:
// one that it accepts is made the other's as well before anything is swept.
func isPending(c *credential, p *pair) bool { return p.main != nil && keyOf(p.main) != c.key }
