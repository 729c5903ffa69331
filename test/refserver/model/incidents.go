package model

import (
	"net/http"
	"slices"
	"time"
)

func (d *Data) incident(id int64) *Incident {
	i := slices.IndexFunc(d.Incidents, func(i Incident) bool { return i.ID == id })
	if i < 0 {
		return nil
	}
	return &d.Incidents[i]
}

// Alerts returns all alerts, newest first.
func (m *Model) Alerts() []Alert {
	var alerts []Alert
	m.read(func(d *Data, _ time.Time) { alerts = slices.Clone(d.Alerts) })
	slices.Reverse(alerts)
	return alerts
}

// Incidents returns all incidents, newest first.
func (m *Model) Incidents() []Incident {
	var incidents []Incident
	m.read(func(d *Data, _ time.Time) { incidents = slices.Clone(d.Incidents) })
	slices.Reverse(incidents)
	return incidents
}

// Incident returns one incident with its alerts.
func (m *Model) Incident(id int64) (Incident, []Alert, error) {
	var incident Incident
	alerts := []Alert{}
	err := refuse(http.StatusNotFound, "incident not found")
	m.read(func(d *Data, _ time.Time) {
		found := d.incident(id)
		if found == nil {
			return
		}
		incident, err = *found, nil
		for _, alert := range d.Alerts {
			if alert.IncidentID == id {
				alerts = append(alerts, alert)
			}
		}
	})
	return incident, alerts, err
}

// Timeline returns an incident's events, oldest first.
func (m *Model) Timeline(incidentID int64) ([]Event, error) {
	events := []Event{}
	var err error
	m.read(func(d *Data, _ time.Time) {
		if d.incident(incidentID) == nil {
			err = refuse(http.StatusNotFound, "incident not found")
			return
		}
		for _, event := range d.Events {
			if event.IncidentID == incidentID {
				events = append(events, event)
			}
		}
	})
	return events, err
}

// act changes an incident and notes it in the timeline; a resolved incident is refused unless late is set.
func (m *Model) act(id, userID int64, kind, content string, late bool, change func(*Incident, time.Time)) (Incident, error) {
	var changed Incident
	err := m.write(func(d *Data, now time.Time) error {
		incident := d.incident(id)
		if incident == nil {
			return refuse(http.StatusNotFound, "incident not found")
		}
		if incident.ResolvedAt != nil && !late {
			return refuse(http.StatusConflict, "incident is resolved")
		}
		change(incident, now)
		d.event(id, kind, userID, content, now)
		changed = *incident
		return nil
	})
	return changed, err
}

// Acknowledge notes that a user takes care.
func (m *Model) Acknowledge(id, userID int64) (Incident, error) {
	return m.act(id, userID, "acknowledged", "", false, func(i *Incident, now time.Time) {
		i.AcknowledgedAt, i.AcknowledgedBy = &now, userID
	})
}

// Unacknowledge takes an acknowledgement back.
func (m *Model) Unacknowledge(id, userID int64) (Incident, error) {
	return m.act(id, userID, "unacknowledged", "", false, func(i *Incident, _ time.Time) {
		i.AcknowledgedAt, i.AcknowledgedBy = nil, 0
	})
}

// Resolve ends an incident for good.
func (m *Model) Resolve(id, userID int64) (Incident, error) {
	return m.act(id, userID, "resolved", "", false, func(i *Incident, now time.Time) {
		i.ResolvedAt, i.ByHand, i.NextPage, i.SnoozedUntil = &now, true, nil, nil
	})
}

// Assign gives an incident to a user.
func (m *Model) Assign(id, userID, to int64) (Incident, error) {
	user, err := m.User(to)
	if err != nil {
		return Incident{}, refuse(http.StatusUnprocessableEntity, "user_id %d is no user", to)
	}
	return m.act(id, userID, "assigned", user.Username, false, func(i *Incident, _ time.Time) { i.AssignedTo = to })
}

// Snooze silences an incident for a while.
func (m *Model) Snooze(id, userID int64, duration string) (Incident, error) {
	span, err := positive(duration)
	if err != nil {
		return Incident{}, refuse(http.StatusUnprocessableEntity, "duration must be a positive duration such as 90m")
	}
	return m.act(id, userID, "snoozed", duration, false, func(i *Incident, now time.Time) {
		until := now.Add(span)
		i.SnoozedUntil = &until
	})
}

// Unsnooze ends a snooze.
func (m *Model) Unsnooze(id, userID int64) (Incident, error) {
	return m.act(id, userID, "unsnoozed", "", false, func(i *Incident, _ time.Time) { i.SnoozedUntil = nil })
}

// Archive puts an incident away, or brings it back.
func (m *Model) Archive(id, userID int64, away bool) (Incident, error) {
	kind := "unarchived"
	if away {
		kind = "archived"
	}
	return m.act(id, userID, kind, "", true, func(i *Incident, now time.Time) {
		i.ArchivedAt = nil
		if away {
			i.ArchivedAt = &now
		}
	})
}

// AddNote adds a note to an incident's timeline.
func (m *Model) AddNote(id, userID int64, content string) (Event, error) {
	var note Event
	err := m.write(func(d *Data, now time.Time) error {
		if d.incident(id) == nil {
			return refuse(http.StatusNotFound, "incident not found")
		}
		if content == "" {
			return refuse(http.StatusUnprocessableEntity, "content is required")
		}
		note = d.event(id, "note", userID, content, now)
		return nil
	})
	return note, err
}

// DeleteNote removes a note; other events stay.
func (m *Model) DeleteNote(id, eventID int64) error {
	return m.write(func(d *Data, _ time.Time) error {
		i := slices.IndexFunc(d.Events, func(e Event) bool {
			return e.ID == eventID && e.IncidentID == id && e.Type == "note"
		})
		if i < 0 {
			return refuse(http.StatusNotFound, "note not found")
		}
		d.Events = slices.Delete(d.Events, i, i+1)
		return nil
	})
}
