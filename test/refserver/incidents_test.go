package refserver_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

func labels(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func fallback(o *refserver.Options) { o.Settings.FallbackTopic = "shared" }

func TestIncidentLife(t *testing.T) {
	w := newWorld(t, fallback)
	key := w.source(w.team("a").ID)
	w.send(key, "g1", terdutapi.AlertFiring, labels("alertname", "DiskFull", "severity", "warning", "disk", "1"))
	w.send(key, "g1", terdutapi.AlertFiring, labels("alertname", "DiskFull", "severity", "critical", "disk", "2"))
	w.send(key, "g1", terdutapi.AlertFiring, labels("alertname", "DiskFull", "severity", "info", "disk", "3"))
	w.send(key, "g2", terdutapi.AlertFiring, labels("alertname", "Other"))
	incidents, err := w.admin.ListIncidents(ctx, nil)
	w.must(err)
	if len(incidents) != 2 || incidents[1].Severity != "critical" || incidents[0].Severity != "warning" {
		t.Fatalf("incidents are %+v", incidents)
	}
	if got := w.pages.take(); !slices.Equal(got, []string{"shared", "shared"}) {
		t.Errorf("paged %v", got)
	}
	id := incidents[1].ID
	_, err = w.admin.AcknowledgeIncident(ctx, id)
	w.must(err)
	full, err := w.admin.GetIncident(ctx, id)
	w.must(err)
	if full.Status != terdutapi.IncidentAcknowledged || len(full.Alerts) != 3 {
		t.Errorf("incident is %+v", full)
	}
	_, err = w.admin.ResolveIncident(ctx, id)
	w.must(err)
	_, err = w.admin.ResolveIncident(ctx, id)
	w.refused(err, terdutapi.ErrConflict, "incident is resolved")
	_, err = w.admin.AcknowledgeIncident(ctx, id)
	w.refused(err, terdutapi.ErrConflict, "incident is resolved")

	w.send(key, "g1", terdutapi.AlertFiring, labels("alertname", "DiskFull", "disk", "1"))
	if again := w.incident(); again.ID == id || again.GroupKey != "g1" {
		t.Error("an incident that a person resolved was opened again")
	}
	_, err = w.admin.GetIncident(ctx, 4711)
	w.refused(err, terdutapi.ErrNotFound, "incident not found")
}

func TestIncidentResolvesItselfAndOpensAgain(t *testing.T) {
	w := newWorld(t, fallback)
	key := w.source(w.team("a").ID)
	disk := labels("alertname", "DiskFull")
	w.send(key, "g", terdutapi.AlertFiring, disk)
	id := w.incident().ID
	w.send(key, "g", terdutapi.AlertResolved, disk)
	if got := w.incident(); got.Status != terdutapi.IncidentResolved {
		t.Errorf("incident is %+v", got)
	}
	w.send(key, "g", terdutapi.AlertFiring, disk)
	if got := w.incident(); got.ID != id || got.Status != terdutapi.IncidentTriggered {
		t.Errorf("incident is %+v", got)
	}
	want := map[string]int{"opened": 1, "notified": 2, "resolved": 1, "reopened": 1}
	if got := w.timeline(id); !maps.Equal(got, want) {
		t.Errorf("timeline is %v", got)
	}
}

func TestIncidentActions(t *testing.T) {
	w := newWorld(t, fallback)
	w.send(w.source(w.team("a").ID), "g", terdutapi.AlertFiring, labels("alertname", "DiskFull"))
	id, generated := w.incident().ID, w.admin.Generated()
	alice := w.user("alice", "")

	snoozed, err := generated.SnoozeIncidentWithResponse(ctx, id, terdutapi.SnoozeRequest{Duration: "90m"})
	w.must(err)
	if until := snoozed.JSON200.SnoozedUntil; until == nil || !until.Equal(start.Add(90*time.Minute)) {
		t.Errorf("snoozed until %v", until)
	}
	_, err = generated.SnoozeIncidentWithResponse(ctx, id, terdutapi.SnoozeRequest{Duration: "-1m"})
	w.refused(err, terdutapi.ErrInvalid, "")
	w.pass(90 * time.Minute)
	if w.incident().SnoozedUntil != nil {
		t.Error("the snooze did not expire")
	}
	assigned, err := generated.AssignIncidentWithResponse(ctx, id, terdutapi.AssignRequest{UserID: alice.ID})
	w.must(err)
	if to := assigned.JSON200.AssignedTo; to == nil || *to != alice.ID {
		t.Errorf("assigned to %v", to)
	}
	_, err = generated.AssignIncidentWithResponse(ctx, id, terdutapi.AssignRequest{UserID: 4711})
	w.refused(err, terdutapi.ErrInvalid, "")
	note, err := generated.AddIncidentNoteWithResponse(ctx, id, terdutapi.NoteRequest{Content: "looking"})
	w.must(err)
	_, err = generated.DeleteIncidentNoteWithResponse(ctx, id, note.JSON201.ID)
	w.must(err)
	_, err = generated.DeleteIncidentNoteWithResponse(ctx, id, note.JSON201.ID)
	w.refused(err, terdutapi.ErrNotFound, "note not found")
	_, err = generated.ArchiveIncidentWithResponse(ctx, id)
	w.must(err)
	if current, listErr := w.admin.ListIncidents(ctx, nil); len(current) != 0 || listErr != nil {
		t.Errorf("current incidents are %+v, %v", current, listErr)
	}
	_, err = generated.UnarchiveIncidentWithResponse(ctx, id)
	w.must(err)
	for _, call := range []func() error{
		func() error { _, e := w.admin.AcknowledgeIncident(ctx, id); return e },
		func() error { _, e := generated.UnacknowledgeIncidentWithResponse(ctx, id); return e },
		func() error { _, e := generated.UnsnoozeIncidentWithResponse(ctx, id); return e },
	} {
		w.must(call())
	}
	want := map[string]int{
		"opened": 1, "notified": 1, "snoozed": 1, "snooze_expired": 1, "assigned": 1, "archived": 1, "unarchived": 1,
		"acknowledged": 1, "unacknowledged": 1, "unsnoozed": 1,
	}
	if got := w.timeline(id); !maps.Equal(got, want) {
		t.Errorf("timeline is %v", got)
	}
}

func TestSchedule(t *testing.T) {
	w := newWorld(t)
	alice, bob := w.user("alice", "a"), w.user("bob", "b")
	_, err := w.admin.GetCurrentOnCall(ctx)
	w.refused(err, terdutapi.ErrNotFound, "nobody is on call")
	shifts, err := w.admin.AssignSchedule(ctx, terdutapi.AssignScheduleRequest{
		UserID: alice.ID, Dates: []string{"2026-03-02", "2026-03-01"},
	})
	w.must(err)
	if len(shifts) != 2 {
		t.Errorf("shifts are %+v", shifts)
	}
	take := terdutapi.AssignScheduleRequest{UserID: bob.ID, Dates: []string{"2026-03-03", "2026-03-02"}}
	_, err = w.admin.AssignSchedule(ctx, take)
	w.refused(err, terdutapi.ErrConflict, "date already assigned")
	take.Replace = true
	_, err = w.admin.AssignSchedule(ctx, take)
	w.must(err)
	current, err := w.admin.GetCurrentOnCall(ctx)
	w.must(err)
	all, err := w.admin.GetSchedule(ctx, nil)
	w.must(err)
	if current.Username != "alice" || len(all) != 3 || all[1].Date != "2026-03-02" || all[1].Username != "bob" {
		t.Errorf("current %+v, all %+v", current, all)
	}
	to := "2026-03-01"
	one, err := w.admin.GetSchedule(ctx, &terdutapi.GetScheduleParams{To: &to})
	w.must(err)
	if len(one) != 1 {
		t.Errorf("schedule to %s is %+v", to, one)
	}
	_, err = w.admin.AssignSchedule(ctx, terdutapi.AssignScheduleRequest{UserID: bob.ID, Dates: []string{"tomorrow"}})
	w.refused(err, terdutapi.ErrInvalid, "")
	_, err = w.admin.Generated().DeleteScheduleWithResponse(ctx, current.ID)
	w.must(err)
	_, err = w.admin.GetCurrentOnCall(ctx)
	w.refused(err, terdutapi.ErrNotFound, "")
}

func TestPagingFollowsThePolicy(t *testing.T) {
	w := newWorld(t, fallback)
	team := w.team("a")
	key := w.source(team.ID)
	alice, bob := w.user("alice", "alice-topic"), w.user("bob", "")
	_, err := w.admin.AssignSchedule(ctx, terdutapi.AssignScheduleRequest{UserID: alice.ID, Dates: []string{"2026-03-01"}})
	w.must(err)
	_, err = w.admin.PutEscalation(ctx, team.ID, terdutapi.EscalationPolicy{
		RepeatCount: 1, FallbackTopic: "team", Levels: []terdutapi.EscalationLevel{
			{Timeout: "5m", Targets: []terdutapi.EscalationTarget{{Kind: terdutapi.TargetOnCall}}},
			{Timeout: "10m", Targets: []terdutapi.EscalationTarget{{Kind: terdutapi.TargetUser, UserID: &bob.ID}}},
		},
	})
	w.must(err)
	w.send(key, "g", terdutapi.AlertFiring, labels("alertname", "A"))
	step := func(d time.Duration, want ...string) {
		t.Helper()
		w.pass(d)
		if got := w.pages.take(); !slices.Equal(got, want) {
			t.Errorf("at %v paged %v, want %v", w.now, got, want)
		}
	}
	step(0, "alice-topic")
	step(4 * time.Minute)
	step(time.Minute, "shared") // bob has no topic
	step(10*time.Minute, "alice-topic")
	step(5*time.Minute, "shared")
	step(time.Hour)

	w.send(key, "g2", terdutapi.AlertFiring, labels("alertname", "B"))
	step(0, "alice-topic")
	_, err = w.admin.AcknowledgeIncident(ctx, w.incident().ID)
	w.must(err)
	step(time.Hour)

	w.pass(24 * time.Hour) // nobody is on call any more
	w.send(key, "g3", terdutapi.AlertFiring, labels("alertname", "C"))
	step(0, "team")
}

func TestDeliveriesAreEvents(t *testing.T) {
	w := newWorld(t, func(o *refserver.Options) { o.Settings.RepeatEvery = time.Minute })
	key := w.source(w.team("a").ID)
	w.send(key, "g", terdutapi.AlertFiring, labels("alertname", "A"))
	if got := w.timeline(w.incident().ID); got["notify_failed"] != 1 || len(w.pages.take()) != 0 {
		t.Errorf("with nobody to reach the timeline is %v", got)
	}
	_, err := w.admin.AssignSchedule(ctx, terdutapi.AssignScheduleRequest{
		UserID: w.user("alice", "a").ID, Dates: []string{"2026-03-01"},
	})
	w.must(err)
	w.pages.fail = errors.New("ntfy answered 500")
	w.pass(time.Minute)
	w.pages.fail = nil
	w.pass(time.Minute)
	if got := w.timeline(w.incident().ID); got["notify_failed"] != 2 || got["notified"] != 1 {
		t.Errorf("timeline is %v", got)
	}
}

func TestDeadManSwitch(t *testing.T) {
	w := newWorld(t, fallback)
	team := w.team("a")
	key := w.source(team.ID)
	_, err := w.admin.CreateDeadmanSwitch(ctx, team.ID, watchdog("w"))
	w.must(err)
	alive := labels("alertname", "Watchdog", "cluster", "prod, eu", "extra", "x")
	for range 3 {
		w.pass(15 * time.Minute)
		w.send(key, "watch", terdutapi.AlertFiring, alive)
	}
	w.send(key, "other", terdutapi.AlertFiring, labels("alertname", "Watchdog", "cluster", "test"))
	if got := w.server.Incidents(); len(got) != 1 || got[0].GroupKey != "other" {
		t.Fatalf("incidents are %+v", got)
	}
	w.pages.take()
	w.pass(15*time.Minute + time.Second)
	w.pass(time.Hour)
	missed := w.incident()
	if missed.Severity != "critical" || missed.Title != "dead man's switch: w" || len(w.server.Incidents()) != 2 {
		t.Errorf("incident is %+v", missed)
	}
	if got := w.pages.take(); !slices.Equal(got, []string{"shared"}) {
		t.Errorf("paged %v", got)
	}
	w.send(key, "watch", terdutapi.AlertFiring, alive)
	if got := w.incident(); got.Status != terdutapi.IncidentResolved {
		t.Errorf("after a sign of life the incident is %+v", got)
	}
}

func TestServerWideSwitchIsArmedByItsFirstAlert(t *testing.T) {
	w := newWorld(t, func(o *refserver.Options) {
		o.Settings.Deadman = model.Heartbeat{Matcher: "alertname=Watchdog", Timeout: time.Minute, Severity: "warning"}
	})
	key := w.source(w.team("a").ID)
	w.pass(time.Hour)
	if len(w.server.Incidents()) != 0 {
		t.Error("a switch that never heard anything fired")
	}
	w.send(key, "g", terdutapi.AlertFiring, labels("alertname", "Watchdog"))
	w.pass(2 * time.Minute)
	if got := w.incident(); got.Severity != "warning" || got.TeamID != nil {
		t.Errorf("incident is %+v", got)
	}
}

func TestSweeper(t *testing.T) {
	w := newWorld(t, func(o *refserver.Options) {
		o.Settings.StaleAfter, o.Settings.ArchiveAfter = time.Hour, 24*time.Hour
	})
	w.send(w.source(w.team("a").ID), "g", terdutapi.AlertFiring, labels("alertname", "A"))
	w.pass(61 * time.Minute)
	alerts, err := w.admin.ListAlerts(ctx, nil)
	w.must(err)
	if alerts[0].Status != terdutapi.AlertResolved || alerts[0].ResolutionSource != "stale" {
		t.Errorf("alert is %+v", alerts[0])
	}
	w.pass(25 * time.Hour)
	archived := true
	alerts, err = w.admin.ListAlerts(ctx, &terdutapi.ListAlertsParams{Archived: &archived})
	w.must(err)
	incidents, err := w.admin.ListIncidents(ctx, &terdutapi.ListIncidentsParams{Archived: &archived})
	w.must(err)
	if len(alerts) != 1 || len(incidents) != 1 {
		t.Errorf("archived are %+v, %+v", alerts, incidents)
	}
}

func TestStats(t *testing.T) {
	w := newWorld(t)
	key := w.source(w.team("a").ID)
	w.send(key, "g1", terdutapi.AlertFiring, labels("alertname", "A"))
	w.send(key, "g2", terdutapi.AlertFiring, labels("alertname", "B", "n", "1"))
	w.send(key, "g2", terdutapi.AlertFiring, labels("alertname", "B", "n", "2"))
	w.send(key, "g1", terdutapi.AlertResolved, labels("alertname", "A"))
	generated := w.admin.Generated()
	incidents, err := generated.GetIncidentStatsWithResponse(ctx)
	w.must(err)
	alerts, err := generated.GetAlertStatsWithResponse(ctx)
	w.must(err)
	one := 1
	top, err := generated.GetTopAlertsWithResponse(ctx, &terdutapi.GetTopAlertsParams{Limit: &one})
	w.must(err)
	hours, err := generated.GetAlertsByHourWithResponse(ctx)
	w.must(err)
	days, err := generated.GetAlertsByDayWithResponse(ctx)
	w.must(err)
	if *incidents.JSON200 != (terdutapi.IncidentStats{Total: 2, Triggered: 1, Resolved: 1}) ||
		*alerts.JSON200 != (terdutapi.AlertStats{Total: 3, Firing: 2, Resolved: 1}) ||
		(*top.JSON200)[0] != (terdutapi.NameCount{Name: "B", Count: 2}) || len(*top.JSON200) != 1 ||
		(*hours.JSON200)[0] != (terdutapi.HourCount{Hour: 12, Count: 3}) ||
		(*days.JSON200)[0] != (terdutapi.DayCount{Date: "2026-03-01", Count: 3}) {
		t.Errorf("stats are %+v %+v %+v %+v %+v", incidents.JSON200, alerts.JSON200, top.JSON200, hours.JSON200, days.JSON200)
	}
	first, err := generated.GetAlertWithResponse(ctx, alertID(w))
	w.must(err)
	if first.JSON200.Name != "B" {
		t.Errorf("alert is %+v", first.JSON200)
	}
}

func alertID(w *world) int64 {
	alerts, err := w.admin.ListAlerts(ctx, nil)
	w.must(err)
	return alerts[0].ID
}
