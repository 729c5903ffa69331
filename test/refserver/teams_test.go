package refserver_test

import (
	"reflect"
	"strings"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

func TestTeams(t *testing.T) {
	w := newWorld(t)
	a, b := w.team("a"), w.team("b")
	if a.ID <= 0 || b.ID <= a.ID || a.CreatedAt == nil || !a.CreatedAt.Equal(start) {
		t.Errorf("teams are %+v, %+v", a, b)
	}
	_, err := w.admin.CreateTeam(ctx, "a")
	w.refused(err, terdutapi.ErrConflict, "a team of that name exists")
	_, err = w.admin.RenameTeam(ctx, b.ID, "a")
	w.refused(err, terdutapi.ErrConflict, "")
	for _, name := range []string{"", "  ", strings.Repeat("x", 201)} {
		_, err = w.admin.CreateTeam(ctx, name)
		w.refused(err, terdutapi.ErrInvalid, "")
	}
}

func TestTeamUpdates(t *testing.T) {
	w := newWorld(t)
	a, b := w.team("a"), w.team("b")
	groups := terdutapi.OIDCGroups{MemberGroup: "members", OwnerGroup: "owners"}
	changed, err := w.admin.SetTeamOIDCGroups(ctx, a.ID, groups)
	w.must(err)
	if changed.MemberGroup != "members" || changed.OwnerGroup != "owners" || changed.Name != "a" {
		t.Errorf("team is %+v", changed)
	}
	_, err = w.admin.RenameTeam(ctx, a.ID, "a")
	w.must(err)
	renamed, err := w.admin.RenameTeam(ctx, a.ID, "c")
	w.must(err)
	if renamed.Name != "c" || renamed.MemberGroup != "members" || w.server.Teams()[0].Name != "c" {
		t.Errorf("team is %+v", renamed)
	}
	w.must(w.admin.DeleteTeam(ctx, b.ID))
	w.refused(w.admin.DeleteTeam(ctx, b.ID), terdutapi.ErrNotFound, "team not found")
	if again := w.team("b"); again.ID <= b.ID {
		t.Errorf("the id %d was used again", again.ID)
	}
}

func TestUnknownTeamIsAJSON404Everywhere(t *testing.T) {
	w := newWorld(t)
	const none = 4711
	for name, call := range map[string]func() error{
		"rename":             func() error { _, err := w.admin.RenameTeam(ctx, none, "x"); return err },
		"delete":             func() error { return w.admin.DeleteTeam(ctx, none) },
		"groups":             func() error { _, err := w.admin.SetTeamOIDCGroups(ctx, none, terdutapi.OIDCGroups{}); return err },
		"get escalation":     func() error { _, err := w.admin.GetEscalation(ctx, none); return err },
		"put escalation":     func() error { _, err := w.admin.PutEscalation(ctx, none, terdutapi.EscalationPolicy{}); return err },
		"list switches":      func() error { _, err := w.admin.ListDeadmanSwitches(ctx, none); return err },
		"create switch":      func() error { _, err := w.admin.CreateDeadmanSwitch(ctx, none, watchdog("w")); return err },
		"delete switch":      func() error { return w.admin.DeleteDeadmanSwitch(ctx, none, 1) },
		"list integrations":  func() error { _, err := w.admin.ListIntegrations(ctx, none); return err },
		"create integration": func() error { _, err := w.admin.CreateIntegration(ctx, none, am("a")); return err },
		"rename integration": func() error { _, err := w.admin.RenameIntegration(ctx, none, 1, "x"); return err },
		"delete integration": func() error { return w.admin.DeleteIntegration(ctx, none, 1) },
	} {
		t.Run(name, func(t *testing.T) { w.refused(call(), terdutapi.ErrNotFound, "team not found") })
	}
}

func watchdog(name string) terdutapi.DeadmanSwitchRequest {
	return terdutapi.DeadmanSwitchRequest{
		Name: name, Matcher: `alertname=Watchdog,cluster="prod, eu"`, Timeout: "15m", Severity: "critical",
	}
}

func am(name string) terdutapi.CreateIntegrationRequest {
	return terdutapi.CreateIntegrationRequest{Kind: terdutapi.KindAlertmanager, Name: name}
}

func TestEscalation(t *testing.T) {
	w := newWorld(t)
	team, alice := w.team("a"), w.user("alice", "")
	empty, err := w.admin.GetEscalation(ctx, team.ID)
	w.must(err)
	if empty.Levels == nil || len(empty.Levels) != 0 {
		t.Errorf("a fresh policy is %+v", empty)
	}
	onCall := terdutapi.EscalationTarget{Kind: terdutapi.TargetOnCall}
	user := func(id int64) terdutapi.EscalationTarget {
		return terdutapi.EscalationTarget{Kind: terdutapi.TargetUser, UserID: &id}
	}
	want := terdutapi.EscalationPolicy{RepeatCount: 2, FallbackTopic: "all", Levels: []terdutapi.EscalationLevel{
		{Timeout: "5m", Targets: []terdutapi.EscalationTarget{onCall, user(alice.ID)}},
		{Timeout: "15m0s", Targets: []terdutapi.EscalationTarget{user(alice.ID), onCall}},
	}}
	put, err := w.admin.PutEscalation(ctx, team.ID, want)
	w.must(err)
	got, err := w.admin.GetEscalation(ctx, team.ID)
	w.must(err)
	if !reflect.DeepEqual(*put, want) || !reflect.DeepEqual(*got, want) {
		t.Errorf("policy is %+v, %+v", put, got)
	}
	level := func(timeout string, targets ...terdutapi.EscalationTarget) terdutapi.EscalationPolicy {
		return terdutapi.EscalationPolicy{Levels: []terdutapi.EscalationLevel{{Timeout: timeout, Targets: targets}}}
	}
	for name, bad := range map[string]terdutapi.EscalationPolicy{
		"unknown user":      level("5m", user(999)),
		"user without id":   level("5m", terdutapi.EscalationTarget{Kind: terdutapi.TargetUser}),
		"on call with id":   level("5m", terdutapi.EscalationTarget{Kind: terdutapi.TargetOnCall, UserID: &alice.ID}),
		"no targets":        level("5m", []terdutapi.EscalationTarget{}...),
		"no duration":       level("soon", onCall),
		"negative duration": level("-5m", onCall),
		"negative repeat":   {RepeatCount: -1, Levels: want.Levels},
	} {
		if name == "no targets" {
			bad.Levels[0].Targets = []terdutapi.EscalationTarget{}
		}
		_, err = w.admin.PutEscalation(ctx, team.ID, bad)
		t.Run(name, func(*testing.T) { w.refused(err, terdutapi.ErrInvalid, "") })
	}
	if kept := w.server.Escalation(team.ID); kept.RepeatCount != 2 || len(kept.Levels) != 2 {
		t.Errorf("a refused policy changed the old one: %+v", kept)
	}
	cleared, err := w.admin.PutEscalation(ctx, team.ID, terdutapi.EscalationPolicy{})
	w.must(err)
	if len(cleared.Levels) != 0 || len(w.server.Escalation(team.ID).Levels) != 0 {
		t.Errorf("policy is %+v", cleared)
	}
}

func TestSwitches(t *testing.T) {
	w := newWorld(t)
	team, other := w.team("a"), w.team("b")
	made, err := w.admin.CreateDeadmanSwitch(ctx, team.ID, watchdog("w"))
	w.must(err)
	if made.TeamID != team.ID || made.Timeout != "15m" || made.CreatedAt == nil {
		t.Errorf("switch is %+v", made)
	}
	_, err = w.admin.CreateDeadmanSwitch(ctx, team.ID, watchdog("w"))
	w.refused(err, terdutapi.ErrConflict, "a dead man's switch of that name exists")
	_, err = w.admin.CreateDeadmanSwitch(ctx, other.ID, watchdog("w"))
	w.must(err)
	for name, change := range map[string]func(*terdutapi.DeadmanSwitchRequest){
		"name":             func(r *terdutapi.DeadmanSwitchRequest) { r.Name = "" },
		"empty matcher":    func(r *terdutapi.DeadmanSwitchRequest) { r.Matcher = " " },
		"no value":         func(r *terdutapi.DeadmanSwitchRequest) { r.Matcher = "alertname" },
		"bad label":        func(r *terdutapi.DeadmanSwitchRequest) { r.Matcher = "alert name=x" },
		"label twice":      func(r *terdutapi.DeadmanSwitchRequest) { r.Matcher = "a=1,a=2" },
		"open quote":       func(r *terdutapi.DeadmanSwitchRequest) { r.Matcher = `a="1` },
		"after a quote":    func(r *terdutapi.DeadmanSwitchRequest) { r.Matcher = `a="1"b=2` },
		"comma at the end": func(r *terdutapi.DeadmanSwitchRequest) { r.Matcher = "a=1," },
		"timeout":          func(r *terdutapi.DeadmanSwitchRequest) { r.Timeout = "0s" },
		"severity":         func(r *terdutapi.DeadmanSwitchRequest) { r.Severity = "loud" },
	} {
		bad := watchdog("new")
		change(&bad)
		_, err = w.admin.CreateDeadmanSwitch(ctx, team.ID, bad)
		t.Run(name, func(*testing.T) { w.refused(err, terdutapi.ErrInvalid, "") })
	}
	w.refused(w.admin.DeleteDeadmanSwitch(ctx, other.ID, made.ID), terdutapi.ErrNotFound, "dead man's switch not found")
	w.must(w.admin.DeleteDeadmanSwitch(ctx, team.ID, made.ID))
	if len(w.server.Switches(team.ID)) != 0 || len(w.server.Switches(other.ID)) != 1 {
		t.Error("the wrong switch went")
	}
}

func TestIntegrations(t *testing.T) {
	w := newWorld(t, func(o *refserver.Options) { o.BaseURL = "https://terdut.example.com/" })
	team := w.team("a")
	request := am("prod")
	request.Key = chosen
	made, err := w.admin.CreateIntegration(ctx, team.ID, request)
	w.must(err)
	if made.Key != chosen || made.URL != "https://terdut.example.com/api/webhooks/alertmanager/"+chosen {
		t.Errorf("integration is %+v", made)
	}
	_, err = w.admin.CreateIntegration(ctx, team.ID, am("prod"))
	w.refused(err, terdutapi.ErrConflict, "an integration of that name exists")
	_, err = w.admin.CreateIntegration(ctx, team.ID, terdutapi.CreateIntegrationRequest{Kind: "carrier-pigeon", Name: "x"})
	w.refused(err, terdutapi.ErrInvalid, "")
	second, err := w.admin.CreateIntegration(ctx, team.ID, am("second"))
	w.must(err)
	_, err = w.admin.RenameIntegration(ctx, team.ID, second.ID, "prod")
	w.refused(err, terdutapi.ErrConflict, "")
	_, err = w.admin.RenameIntegration(ctx, team.ID, made.ID, "renamed")
	w.must(err)
	if w.server.IntegrationID(chosen) != made.ID {
		t.Error("a rename changed the key")
	}
	w.must(w.admin.DeleteIntegration(ctx, team.ID, made.ID))
	w.refused(w.admin.DeleteIntegration(ctx, team.ID, made.ID), terdutapi.ErrNotFound, "integration not found")
	err = w.admin.SendAlerts(ctx, chosen, terdutapi.AlertmanagerWebhook{
		GroupKey: "g", Status: terdutapi.AlertFiring, Alerts: []terdutapi.AlertmanagerAlert{},
	})
	w.refused(err, terdutapi.ErrUnauthorized, "unknown integration key")
}

func TestDeletingATeamTakesEverythingAlong(t *testing.T) {
	w := newWorld(t)
	team := w.team("a")
	key := w.source(team.ID)
	_, err := w.admin.CreateDeadmanSwitch(ctx, team.ID, watchdog("w"))
	w.must(err)
	account, err := w.admin.CreateServiceAccount(ctx, terdutapi.CreateServiceAccountRequest{Name: "bot", TeamID: &team.ID})
	w.must(err)
	w.must(w.admin.DeleteTeam(ctx, team.ID))
	if w.server.IntegrationID(key) != 0 || w.server.KeyID(account.Key.Key) != 0 || len(w.server.Accounts()) != 0 {
		t.Error("something of the team is left")
	}
	w.pass(1 << 40)
	if len(w.server.Incidents()) != 0 {
		t.Error("a deleted switch fired")
	}
}

func TestWithoutCreatedAt(t *testing.T) {
	w := newWorld(t, without("created-at"))
	team := w.team("a")
	made, err := w.admin.CreateDeadmanSwitch(ctx, team.ID, watchdog("w"))
	w.must(err)
	if team.CreatedAt != nil || made.CreatedAt != nil {
		t.Error("created_at is given")
	}
}

func TestNamesThatTheServerNormalises(t *testing.T) {
	w := newWorld(t, func(o *refserver.Options) { o.Settings.NormalizeName = strings.TrimSpace })
	if team := w.team(" a "); team.Name != "a" {
		t.Errorf("team is %+v", team)
	}
	_, err := w.admin.CreateTeam(ctx, "a  ")
	w.refused(err, terdutapi.ErrConflict, "")
}
