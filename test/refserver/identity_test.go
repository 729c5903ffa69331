package refserver_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

var (
	chosen      = strings.Repeat("0123456789abcdef", 4)
	otherChosen = strings.Repeat("fedcba9876543210", 4)
)

func TestBootstrapWorksOnce(t *testing.T) {
	w := freshWorld(t)
	var won, lost atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			_, err := w.client("").Bootstrap(ctx, terdutapi.BootstrapRequest{Username: "root", Email: "a@b"})
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, terdutapi.ErrForbidden):
				lost.Add(1)
			}
		})
	}
	wait.Wait()
	if won.Load() != 1 || lost.Load() != 7 {
		t.Errorf("%d bootstraps succeeded and %d were forbidden", won.Load(), lost.Load())
	}
}

func TestBootstrapCountsUsersOfOthers(t *testing.T) {
	w := freshWorld(t)
	_, key, err := w.server.AddUser("person", true)
	w.must(err)
	_, err = w.client("").Bootstrap(ctx, terdutapi.BootstrapRequest{Username: "root", Email: "a@b"})
	w.refused(err, terdutapi.ErrForbidden, "already bootstrapped")
	_, err = w.client(key).CreateTeam(ctx, "a")
	w.must(err)
}

func TestKeys(t *testing.T) {
	w := newWorld(t)
	me, err := w.admin.Me(ctx)
	w.must(err)
	for _, bad := range []string{"", "wrong", strings.ToUpper(w.key), w.key[:63]} {
		_, err = w.client(bad).ListTeams(ctx)
		w.refused(err, terdutapi.ErrUnauthorized, "invalid API key")
	}
	second, err := w.admin.CreateAPIKey(ctx, me.User.ID, terdutapi.CreateKeyRequest{Name: "second"})
	w.must(err)
	keys, err := w.client(second.Key).ListAPIKeys(ctx, me.User.ID)
	w.must(err)
	if len(keys) != 2 || keys[1].Name != "second" || keys[1].LastUsedAt == nil || len(second.Key) != 64 {
		t.Errorf("keys are %+v", keys)
	}
	if w.server.KeyID(second.Key) != second.ID || len(w.server.LiveKeys()) != 2 {
		t.Error("the second key is not live")
	}
	w.must(w.admin.DeleteAPIKey(ctx, me.User.ID, second.ID))
	w.refused(w.admin.DeleteAPIKey(ctx, me.User.ID, second.ID), terdutapi.ErrNotFound, "API key not found")
	_, err = w.client(second.Key).Me(ctx)
	w.refused(err, terdutapi.ErrUnauthorized, "")
}

func TestChosenKeys(t *testing.T) {
	w := newWorld(t)
	me, err := w.admin.Me(ctx)
	w.must(err)
	made, err := w.admin.CreateAPIKey(ctx, me.User.ID, terdutapi.CreateKeyRequest{Name: "a", Key: chosen})
	w.must(err)
	if made.Key != chosen {
		t.Error("the chosen key is not used")
	}
	_, err = w.admin.CreateAPIKey(ctx, me.User.ID, terdutapi.CreateKeyRequest{Name: "again", Key: chosen})
	w.refused(err, terdutapi.ErrConflict, "key is already in use")
	_, err = w.admin.CreateAPIKey(ctx, me.User.ID, terdutapi.CreateKeyRequest{Name: "short", Key: "abc"})
	w.refused(err, terdutapi.ErrInvalid, "")

	off := newWorld(t, without("chosen-keys"))
	me, err = off.admin.Me(ctx)
	off.must(err)
	made, err = off.admin.CreateAPIKey(ctx, me.User.ID, terdutapi.CreateKeyRequest{Name: "a", Key: chosen})
	off.must(err)
	if made.Key == chosen {
		t.Error("a server without the capability used the chosen key")
	}
}

func TestScopedAccountReachesItsTeamOnly(t *testing.T) {
	w := newWorld(t)
	mine, other := w.team("mine"), w.team("other")
	account, err := w.admin.CreateServiceAccount(ctx,
		terdutapi.CreateServiceAccountRequest{Name: "bot", TeamID: &mine.ID, Key: chosen})
	w.must(err)
	bot := w.client(account.Key.Key)

	teams, err := bot.ListTeams(ctx)
	w.must(err)
	if len(teams) != 1 || teams[0].ID != mine.ID {
		t.Errorf("bot sees %+v", teams)
	}
	me, err := bot.Me(ctx)
	w.must(err)
	if me.User.ID != account.ID || me.User.Username != "bot" {
		t.Errorf("bot is %+v", me)
	}
	_, err = bot.RenameTeam(ctx, mine.ID, "mine")
	w.must(err)
	_, err = bot.ListIntegrations(ctx, mine.ID)
	w.must(err)
	w.refused(bot.DeleteTeam(ctx, mine.ID), terdutapi.ErrForbidden, "")
	for name, call := range map[string]func() error{
		"other team":   func() error { _, e := bot.ListIntegrations(ctx, other.ID); return e },
		"missing team": func() error { _, e := bot.GetEscalation(ctx, 999); return e },
		"new team":     func() error { _, e := bot.CreateTeam(ctx, "x"); return e },
		"users":        func() error { _, e := bot.ListUsers(ctx); return e },
		"accounts":     func() error { _, e := bot.ListServiceAccounts(ctx); return e },
	} {
		if err = call(); !errors.Is(err, terdutapi.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.must(w.admin.DeleteTeam(ctx, mine.ID))
	_, err = bot.ListTeams(ctx)
	w.refused(err, terdutapi.ErrUnauthorized, "")
}

func TestServiceAccounts(t *testing.T) {
	w := newWorld(t)
	made, err := w.admin.CreateServiceAccount(ctx, terdutapi.CreateServiceAccountRequest{Name: "bot"})
	w.must(err)
	_, err = w.admin.CreateServiceAccount(ctx, terdutapi.CreateServiceAccountRequest{Name: "bot"})
	w.refused(err, terdutapi.ErrConflict, "")
	found, err := w.admin.FindServiceAccount(ctx, "bot")
	w.must(err)
	if found == nil || found.ID != made.ID {
		t.Errorf("found %+v", found)
	}
	second, err := w.admin.CreateServiceAccountKey(ctx, made.ID, terdutapi.CreateKeyRequest{Name: "second", Key: otherChosen})
	w.must(err)
	w.must(w.client(second.Key).DeleteServiceAccountKey(ctx, made.ID, made.Key.ID))
	keys, err := w.admin.ListServiceAccountKeys(ctx, made.ID)
	w.must(err)
	if len(keys) != 1 || keys[0].ID != second.ID {
		t.Errorf("keys are %+v", keys)
	}
	w.must(w.admin.DeleteServiceAccount(ctx, made.ID))
	w.refused(w.admin.DeleteServiceAccount(ctx, made.ID), terdutapi.ErrNotFound, "")
	none, err := w.admin.FindServiceAccount(ctx, "bot")
	if none != nil || err != nil {
		t.Errorf("found %+v, %v", none, err)
	}
}

func TestOrdinaryUsersReadButDoNotAdminister(t *testing.T) {
	w := newWorld(t)
	alice, key, err := w.server.AddUser("alice", false)
	w.must(err)
	c := w.client(key)
	_, err = c.ListTeams(ctx)
	w.must(err)
	w.must(c.SetUserNotify(ctx, alice.ID, "mine"))
	_, err = c.CreateAPIKey(ctx, alice.ID, terdutapi.CreateKeyRequest{Name: "own"})
	w.must(err)
	_, err = c.CreateTeam(ctx, "x")
	w.refused(err, terdutapi.ErrForbidden, "only an admin may do this")
	_, err = c.ListAPIKeys(ctx, w.server.Users()[0].ID)
	w.refused(err, terdutapi.ErrForbidden, "")
	_, err = c.ListServiceAccounts(ctx)
	w.refused(err, terdutapi.ErrForbidden, "")
}

// without turns capabilities off.
func without(names ...string) func(*refserver.Options) {
	return func(o *refserver.Options) {
		offered := refserver.AllCapabilities()
		for _, name := range names {
			if !offered.TurnOff(name) {
				panic("no capability " + name)
			}
		}
		o.Capabilities = &offered
	}
}

func TestHiddenRoutesLookLikeAnOlderServer(t *testing.T) {
	w := newWorld(t)
	calls := map[string]func(*terdutapi.Client) error{
		"service-accounts": func(c *terdutapi.Client) error { _, err := c.ListServiceAccounts(ctx); return err },
		"version":          func(c *terdutapi.Client) error { _, err := c.Version(ctx); return err },
		"me":               func(c *terdutapi.Client) error { _, err := c.Me(ctx); return err },
		"list-keys":        func(c *terdutapi.Client) error { _, err := c.ListAPIKeys(ctx, 1); return err },
	}
	for name, call := range calls {
		w.server.SetCapabilities(refserver.AllCapabilities())
		w.must(call(w.admin))
		offered := refserver.AllCapabilities()
		offered.TurnOff(name)
		w.server.SetCapabilities(offered)
		w.refused(call(w.admin), terdutapi.ErrRouteMissing, "")
		w.refused(call(w.client("wrong")), terdutapi.ErrRouteMissing, "")
	}
	offered := refserver.AllCapabilities()
	offered.TurnOff("list-keys")
	w.server.SetCapabilities(offered)
	version, err := w.admin.Version(ctx)
	w.must(err)
	if len(version.Capabilities) != 5 || version.Version != refserver.DefaultVersion {
		t.Errorf("version is %+v", version)
	}
	_, err = w.admin.CreateAPIKey(ctx, w.server.Users()[0].ID, terdutapi.CreateKeyRequest{Name: "still possible"})
	w.must(err)
}
