package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// severities in rising order. Others can come with an alert; they count less than all of these.
var severities = []string{"info", "warning", "critical"}

const defaultSeverity = "warning"

// Webhook is what Alertmanager posts for one group.
type Webhook struct {
	GroupKey string
	Alerts   []Alert // Firing, Labels, Annotations, StartsAt, EndsAt, GeneratorURL and Fingerprint are read
}

// Page is one notification that is due. Whoever delivers it reports back through Delivered.
type Page struct {
	IncidentID int64
	UserID     int64 // 0 for a shared topic
	Topic      string
	Title      string
	Severity   string
}

// Ingest takes a webhook with an integration's key and returns the pages that are due because of it.
func (m *Model) Ingest(integrationKey string, hook Webhook) ([]Page, error) {
	var pages []Page
	err := m.write(func(d *Data, now time.Time) error {
		i := d.integrationOf(integrationKey)
		if i < 0 {
			return refuse(http.StatusUnauthorized, "unknown integration key")
		}
		teamID := d.Integrations[i].TeamID
		for _, alert := range hook.Alerts {
			alert.TeamID = teamID
			pages = append(pages, m.take(d, alert, hook.GroupKey, now)...)
		}
		return nil
	})
	return pages, err
}

// take stores one alert, feeds the switches that it belongs to, and opens, raises or resolves an incident.
func (m *Model) take(d *Data, in Alert, groupKey string, now time.Time) []Page {
	alert := d.store(in, now)
	if !alert.Firing {
		d.settle(alert.IncidentID, now)
		return nil
	}
	if m.feed(d, alert, now) {
		return nil
	}
	severity := alert.Labels["severity"]
	if severity == "" {
		severity = defaultSeverity
	}
	incident, opened := d.open(Incident{
		TeamID: alert.TeamID, Title: alert.Name, Severity: severity, GroupKey: groupKey,
	}, now)
	alert.IncidentID = incident.ID
	if !opened {
		return nil
	}
	return m.page(d, incident, now)
}

// store updates the alert that is firing under the same fingerprint, or adds a new one.
func (d *Data) store(in Alert, now time.Time) *Alert {
	if in.Fingerprint == "" {
		in.Fingerprint = fingerprint(in.Labels)
	}
	i := slices.IndexFunc(d.Alerts, func(a Alert) bool {
		return a.TeamID == in.TeamID && a.Fingerprint == in.Fingerprint && a.Firing
	})
	if i < 0 {
		in.ID, in.ReceivedAt, in.Name = d.nextID(), now, in.Labels["alertname"]
		d.Alerts = append(d.Alerts, in)
		i = len(d.Alerts) - 1
	}
	alert := &d.Alerts[i]
	alert.SeenAt, alert.Firing, alert.EndsAt = now, in.Firing, in.EndsAt
	alert.Labels, alert.Annotations = in.Labels, in.Annotations
	if !in.Firing {
		alert.ResolutionSource = "alertmanager"
	}
	return alert
}

func fingerprint(labels map[string]string) string {
	h := sha256.New()
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		// A hash never fails to be written to.
		_, _ = fmt.Fprintf(h, "%q=%q,", label, labels[label])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// feed tells the switches that a firing alert was heard, and whether there was one: an alert that feeds a switch
// is a sign of life and opens no incident.
func (m *Model) feed(d *Data, alert *Alert, now time.Time) bool {
	fed := false
	for i := range d.Switches {
		s := &d.Switches[i]
		if s.TeamID != alert.TeamID || !heard(s.Matcher, alert.Labels) {
			continue
		}
		fed = true
		s.LastSeen = now
		if s.Missed {
			s.Missed = false
			d.resolveGroup(switchGroup(s.ID), now)
		}
	}
	if heard(m.settings.Deadman.Matcher, alert.Labels) {
		fed = true
		d.Heard = &now
		if d.HeardMissed {
			d.HeardMissed = false
			d.resolveGroup(switchGroup(0), now)
		}
	}
	return fed
}

func heard(text string, labels map[string]string) bool {
	m, err := parseMatcher(text)
	return err == nil && m.matches(labels)
}

func switchGroup(id int64) string { return fmt.Sprintf("deadman:%d", id) }

// open finds the incident of a group, or makes one; true when somebody must hear of it. A severity only rises. What a
// person has resolved stays resolved: the next alert opens a new incident. What resolved by itself opens again.
func (d *Data) open(in Incident, now time.Time) (*Incident, bool) {
	for i := len(d.Incidents) - 1; i >= 0; i-- {
		incident := &d.Incidents[i]
		if incident.TeamID != in.TeamID || incident.GroupKey != in.GroupKey {
			continue
		}
		if incident.ResolvedAt != nil && (incident.ByHand || incident.ArchivedAt != nil) {
			break
		}
		if slices.Index(severities, in.Severity) > slices.Index(severities, incident.Severity) {
			incident.Severity = in.Severity
			d.event(incident.ID, "severity_raised", 0, in.Severity, now)
		}
		if incident.ResolvedAt == nil {
			return incident, false
		}
		incident.ResolvedAt, incident.AcknowledgedAt, incident.AcknowledgedBy, incident.Step = nil, nil, 0, 0
		d.event(incident.ID, "reopened", 0, "", now)
		return incident, true
	}
	in.ID, in.CreatedAt = d.nextID(), now
	d.Incidents = append(d.Incidents, in)
	d.event(in.ID, "opened", 0, "", now)
	return &d.Incidents[len(d.Incidents)-1], true
}

// settle resolves an incident when none of its alerts fires any more.
func (d *Data) settle(incidentID int64, now time.Time) {
	incident := d.incident(incidentID)
	if incident == nil || incident.ResolvedAt != nil {
		return
	}
	if slices.ContainsFunc(d.Alerts, func(a Alert) bool { return a.IncidentID == incidentID && a.Firing }) {
		return
	}
	d.resolve(incident, 0, now)
}

func (d *Data) resolveGroup(groupKey string, now time.Time) {
	for i := range d.Incidents {
		if d.Incidents[i].GroupKey == groupKey && d.Incidents[i].ResolvedAt == nil {
			d.resolve(&d.Incidents[i], 0, now)
		}
	}
}

// resolve ends an incident; userID 0 means that it ended by itself.
func (d *Data) resolve(incident *Incident, userID int64, now time.Time) {
	incident.ResolvedAt, incident.ByHand = &now, userID != 0
	incident.NextPage, incident.SnoozedUntil = nil, nil
	d.event(incident.ID, "resolved", userID, "", now)
}

func (d *Data) event(incidentID int64, kind string, userID int64, content string, now time.Time) Event {
	event := Event{
		ID: d.nextID(), IncidentID: incidentID, Type: kind, UserID: userID, Content: content, CreatedAt: now,
	}
	d.Events = append(d.Events, event)
	return event
}
