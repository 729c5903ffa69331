package model

import (
	"slices"
	"time"
)

// page takes the next step of an incident's policy, or pages whoever is on call where the team has none.
func (m *Model) page(d *Data, incident *Incident, now time.Time) []Page {
	policy := d.Policies[incident.TeamID]
	targets := []Target{{}}
	incident.NextPage = nil
	if n := len(policy.Levels); n > 0 {
		level := policy.Levels[incident.Step%n]
		targets = level.Targets
		incident.Step++
		if incident.Step < n*(1+policy.RepeatCount) {
			due := now.Add(level.Timeout)
			incident.NextPage = &due
		}
	} else if m.settings.RepeatEvery > 0 {
		due := now.Add(m.settings.RepeatEvery)
		incident.NextPage = &due
	}
	pages := m.resolveTargets(d, targets, now)
	if len(pages) == 0 {
		topic := policy.FallbackTopic
		if topic == "" {
			topic = m.settings.FallbackTopic
		}
		pages = []Page{{Topic: topic}}
	}
	for i := range pages {
		pages[i].IncidentID, pages[i].Title, pages[i].Severity = incident.ID, incident.Title, incident.Severity
	}
	return pages
}

// resolveTargets turns targets into topics, each once; a user without a topic is reached over the shared one.
func (m *Model) resolveTargets(d *Data, targets []Target, now time.Time) []Page {
	var pages []Page
	for _, target := range targets {
		userID := target.UserID
		if userID == 0 {
			userID = d.onCall(now)
		}
		user := d.user(userID)
		if user == nil {
			continue
		}
		page := Page{UserID: userID, Topic: user.Topic}
		if page.Topic == "" {
			page.Topic = m.settings.FallbackTopic
		}
		if !slices.Contains(pages, page) {
			pages = append(pages, page)
		}
	}
	return pages
}

// Delivered notes what became of a page; an empty reason means that it arrived.
func (m *Model) Delivered(page Page, reason string) error {
	return m.write(func(d *Data, now time.Time) error {
		if d.incident(page.IncidentID) == nil {
			return nil
		}
		kind, content := "notified", page.Topic
		if reason != "" {
			kind, content = "notify_failed", reason
		}
		d.event(page.IncidentID, kind, page.UserID, content, now)
		return nil
	})
}

// Tick does what is due by now: snoozes end, silent switches fire, stale alerts resolve, old ones are archived, and
// the next steps of policies are taken. It returns the pages that are due.
func (m *Model) Tick(now time.Time) ([]Page, error) {
	var pages []Page
	now = now.UTC()
	err := m.write(func(d *Data, _ time.Time) error {
		d.endSnoozes(now)
		pages = append(pages, m.missed(d, now)...)
		m.sweep(d, now)
		for i := range d.Incidents {
			incident := &d.Incidents[i]
			if pageDue(incident, now) {
				pages = append(pages, m.page(d, incident, now)...)
			}
		}
		return nil
	})
	return pages, err
}

func pageDue(incident *Incident, now time.Time) bool {
	return incident.NextPage != nil && !incident.NextPage.After(now) &&
		incident.AcknowledgedAt == nil && incident.SnoozedUntil == nil && incident.ResolvedAt == nil
}

func (d *Data) endSnoozes(now time.Time) {
	for i := range d.Incidents {
		incident := &d.Incidents[i]
		if incident.SnoozedUntil != nil && !incident.SnoozedUntil.After(now) {
			incident.SnoozedUntil = nil
			d.event(incident.ID, "snooze_expired", 0, "", now)
		}
	}
}

// missed fires the switches that heard nothing for too long, each once.
func (m *Model) missed(d *Data, now time.Time) []Page {
	var pages []Page
	for i := range d.Switches {
		s := &d.Switches[i]
		if s.Missed || now.Sub(s.LastSeen) <= s.Timeout {
			continue
		}
		s.Missed = true
		pages = append(pages, m.fire(d, *s, now)...)
	}
	deadman := m.settings.Deadman
	if d.Heard != nil && !d.HeardMissed && now.Sub(*d.Heard) > deadman.Timeout {
		d.HeardMissed = true
		pages = append(pages, m.fire(d, Switch{Name: deadman.Matcher, Severity: deadman.Severity}, now)...)
	}
	return pages
}

func (m *Model) fire(d *Data, s Switch, now time.Time) []Page {
	incident, opened := d.open(Incident{
		TeamID: s.TeamID, Title: "dead man's switch: " + s.Name, Severity: s.Severity, GroupKey: switchGroup(s.ID),
	}, now)
	if !opened {
		return nil
	}
	return m.page(d, incident, now)
}

func (m *Model) sweep(d *Data, now time.Time) {
	if stale := m.settings.StaleAfter; stale > 0 {
		for i := range d.Alerts {
			alert := &d.Alerts[i]
			if alert.Firing && now.Sub(alert.SeenAt) > stale {
				alert.Firing, alert.EndsAt, alert.ResolutionSource = false, now, "stale"
				d.settle(alert.IncidentID, now)
			}
		}
	}
	if m.settings.ArchiveAfter > 0 {
		d.archive(now.Add(-m.settings.ArchiveAfter), now)
	}
}

func (d *Data) archive(before, now time.Time) {
	for i := range d.Alerts {
		alert := &d.Alerts[i]
		if !alert.Firing && alert.ArchivedAt == nil && alert.EndsAt.Before(before) {
			alert.ArchivedAt = &now
		}
	}
	for i := range d.Incidents {
		incident := &d.Incidents[i]
		if incident.ResolvedAt != nil && incident.ArchivedAt == nil && incident.ResolvedAt.Before(before) {
			incident.ArchivedAt = &now
		}
	}
}
