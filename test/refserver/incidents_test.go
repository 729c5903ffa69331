package refserver_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
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
