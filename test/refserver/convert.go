package refserver

import (
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/internal/gen"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// each converts a list; the result is never nil, so that it is written as [] and not as null.
func each[From, To any](from []From, convert func(From) To) []To {
	to := make([]To, 0, len(from))
	for _, value := range from {
		to = append(to, convert(value))
	}
	return to
}

// optional leaves out a zero value.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

func value[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}

// created is the created_at of what may lack one.
func (a *api) created(at time.Time) *time.Time {
	if !a.offers().CreatedAt {
		return nil
	}
	return &at
}

// chosen is the key that the caller asked for, where the server honours that.
func (a *api) chosen(key string) string {
	if !a.offers().ChosenKeys {
		return ""
	}
	return key
}

func (a *api) offers() Capabilities {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.s.capabilities
}

func user(u model.User) gen.User {
	return gen.User{ID: u.ID, Username: u.Username, Email: u.Email, CreatedAt: u.CreatedAt, NtfyTopic: u.Topic}
}

func apiKey(k model.Key) gen.APIKey {
	return gen.APIKey{ID: k.ID, UserID: k.OwnerID, Name: k.Name, CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt}
}

func account(a model.Account) gen.ServiceAccount {
	return gen.ServiceAccount{ID: a.ID, Name: a.Name, TeamID: optional(a.TeamID), CreatedAt: a.CreatedAt}
}

func (a *api) team(t model.Team) gen.Team {
	return gen.Team{
		ID: t.ID, Name: t.Name, CreatedAt: a.created(t.CreatedAt), MemberGroup: t.MemberGroup, OwnerGroup: t.OwnerGroup,
	}
}

func (a *api) deadman(s model.Switch) gen.DeadmanSwitch {
	return gen.DeadmanSwitch{
		ID: s.ID, TeamID: s.TeamID, Name: s.Name, Matcher: s.Matcher, Timeout: s.TimeoutText, Severity: s.Severity,
		CreatedAt: a.created(s.CreatedAt),
	}
}

func (a *api) integration(i model.Integration) gen.Integration {
	return gen.Integration{ID: i.ID, TeamID: i.TeamID, Kind: i.Kind, Name: i.Name, CreatedAt: a.created(i.CreatedAt)}
}

func policy(p model.Policy) gen.EscalationPolicy {
	return gen.EscalationPolicy{
		RepeatCount: p.RepeatCount, FallbackTopic: p.FallbackTopic,
		Levels: each(p.Levels, func(l model.Level) gen.EscalationLevel {
			return gen.EscalationLevel{Timeout: l.TimeoutText, Targets: each(l.Targets, target)}
		}),
	}
}

func target(t model.Target) gen.EscalationTarget {
	if t.UserID == 0 {
		return gen.EscalationTarget{Kind: gen.TargetOnCall}
	}
	return gen.EscalationTarget{Kind: gen.TargetUser, UserID: &t.UserID}
}

func alert(a model.Alert) gen.Alert {
	status := gen.AlertResolved
	if a.Firing {
		status = gen.AlertFiring
	}
	out := gen.Alert{
		ID: a.ID, Fingerprint: a.Fingerprint, Name: a.Name, Status: status, Labels: a.Labels, Annotations: a.Annotations,
		StartsAt: a.StartsAt, EndsAt: a.EndsAt, GeneratorURL: a.GeneratorURL, ReceivedAt: a.ReceivedAt,
		ArchivedAt: a.ArchivedAt, IncidentID: optional(a.IncidentID), ResolutionSource: a.ResolutionSource,
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	return out
}

func status(i model.Incident) gen.IncidentStatus {
	switch {
	case i.ResolvedAt != nil:
		return gen.IncidentResolved
	case i.AcknowledgedAt != nil:
		return gen.IncidentAcknowledged
	default:
		return gen.IncidentTriggered
	}
}

func incident(i model.Incident) gen.Incident {
	return gen.Incident{
		ID: i.ID, TeamID: optional(i.TeamID), Title: i.Title, Status: status(i), Severity: i.Severity,
		GroupKey: i.GroupKey, CreatedAt: i.CreatedAt, AcknowledgedAt: i.AcknowledgedAt,
		AcknowledgedBy: optional(i.AcknowledgedBy), AssignedTo: optional(i.AssignedTo), SnoozedUntil: i.SnoozedUntil,
		ResolvedAt: i.ResolvedAt, ArchivedAt: i.ArchivedAt,
	}
}

func event(e model.Event) gen.TimelineEvent {
	return gen.TimelineEvent{
		ID: e.ID, IncidentID: e.IncidentID, Type: e.Type, UserID: optional(e.UserID), Content: e.Content,
		CreatedAt: e.CreatedAt,
	}
}

func (a *api) shift(s model.Shift) gen.ScheduleEntry {
	entry := gen.ScheduleEntry{ID: s.ID, Date: s.Date, UserID: s.UserID}
	if u, err := a.s.model.User(s.UserID); err == nil {
		entry.Username = u.Username
	}
	return entry
}
