package refserver_test

import (
	"slices"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

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
