package refserver_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

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
