package refserver

import (
	"context"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/internal/gen"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// changed gives the answer of every call that changes an incident.
func changed(i model.Incident, err error) (gen.IncidentJSONResponse, error) {
	return gen.IncidentJSONResponse(incident(i)), err
}

func (a *api) ListIncidents(_ context.Context, r gen.ListIncidentsRequestObject) (gen.ListIncidentsResponseObject, error) {
	list := []gen.Incident{}
	for _, i := range a.s.model.Incidents() {
		if len(list) == limit(r.Params.Limit) {
			break
		}
		if wanted(r.Params, i) {
			list = append(list, incident(i))
		}
	}
	return gen.ListIncidents200JSONResponse(list), nil
}

func wanted(p gen.ListIncidentsParams, i model.Incident) bool {
	return (p.Status == nil || *p.Status == status(i)) &&
		(p.Snoozed == nil || *p.Snoozed == (i.SnoozedUntil != nil)) &&
		value(p.Archived) == (i.ArchivedAt != nil)
}

func (a *api) GetIncident(_ context.Context, r gen.GetIncidentRequestObject) (gen.GetIncidentResponseObject, error) {
	found, alerts, err := a.s.model.Incident(r.IncidentID)
	if err != nil {
		return nil, err
	}
	body := incident(found)
	body.Alerts = each(alerts, alert)
	return gen.GetIncident200JSONResponse{IncidentJSONResponse: gen.IncidentJSONResponse(body)}, nil
}

func (a *api) GetIncidentTimeline(
	_ context.Context, r gen.GetIncidentTimelineRequestObject,
) (gen.GetIncidentTimelineResponseObject, error) {
	events, err := a.s.model.Timeline(r.IncidentID)
	if err != nil {
		return nil, err
	}
	return gen.GetIncidentTimeline200JSONResponse(each(events, event)), nil
}

func (a *api) AcknowledgeIncident(
	ctx context.Context, r gen.AcknowledgeIncidentRequestObject,
) (gen.AcknowledgeIncidentResponseObject, error) {
	body, err := changed(a.s.model.Acknowledge(r.IncidentID, callOf(ctx).actor.ID))
	if err != nil {
		return nil, err
	}
	return gen.AcknowledgeIncident200JSONResponse{IncidentJSONResponse: body}, nil
}

func (a *api) UnacknowledgeIncident(
	ctx context.Context, r gen.UnacknowledgeIncidentRequestObject,
) (gen.UnacknowledgeIncidentResponseObject, error) {
	body, err := changed(a.s.model.Unacknowledge(r.IncidentID, callOf(ctx).actor.ID))
	if err != nil {
		return nil, err
	}
	return gen.UnacknowledgeIncident200JSONResponse{IncidentJSONResponse: body}, nil
}

func (a *api) ResolveIncident(
	ctx context.Context, r gen.ResolveIncidentRequestObject,
) (gen.ResolveIncidentResponseObject, error) {
	body, err := changed(a.s.model.Resolve(r.IncidentID, callOf(ctx).actor.ID))
	if err != nil {
		return nil, err
	}
	return gen.ResolveIncident200JSONResponse{IncidentJSONResponse: body}, nil
}

func (a *api) AssignIncident(
	ctx context.Context, r gen.AssignIncidentRequestObject,
) (gen.AssignIncidentResponseObject, error) {
	body, err := changed(a.s.model.Assign(r.IncidentID, callOf(ctx).actor.ID, r.Body.UserID))
	if err != nil {
		return nil, err
	}
	return gen.AssignIncident200JSONResponse{IncidentJSONResponse: body}, nil
}

func (a *api) SnoozeIncident(
	ctx context.Context, r gen.SnoozeIncidentRequestObject,
) (gen.SnoozeIncidentResponseObject, error) {
	body, err := changed(a.s.model.Snooze(r.IncidentID, callOf(ctx).actor.ID, r.Body.Duration))
	if err != nil {
		return nil, err
	}
	return gen.SnoozeIncident200JSONResponse{IncidentJSONResponse: body}, nil
}

func (a *api) UnsnoozeIncident(
	ctx context.Context, r gen.UnsnoozeIncidentRequestObject,
) (gen.UnsnoozeIncidentResponseObject, error) {
	body, err := changed(a.s.model.Unsnooze(r.IncidentID, callOf(ctx).actor.ID))
	if err != nil {
		return nil, err
	}
	return gen.UnsnoozeIncident200JSONResponse{IncidentJSONResponse: body}, nil
}

func (a *api) ArchiveIncident(
	ctx context.Context, r gen.ArchiveIncidentRequestObject,
) (gen.ArchiveIncidentResponseObject, error) {
	body, err := changed(a.s.model.Archive(r.IncidentID, callOf(ctx).actor.ID, true))
	if err != nil {
		return nil, err
	}
	return gen.ArchiveIncident200JSONResponse{IncidentJSONResponse: body}, nil
}

func (a *api) UnarchiveIncident(
	ctx context.Context, r gen.UnarchiveIncidentRequestObject,
) (gen.UnarchiveIncidentResponseObject, error) {
	body, err := changed(a.s.model.Archive(r.IncidentID, callOf(ctx).actor.ID, false))
	if err != nil {
		return nil, err
	}
	return gen.UnarchiveIncident200JSONResponse{IncidentJSONResponse: body}, nil
}

func (a *api) AddIncidentNote(
	ctx context.Context, r gen.AddIncidentNoteRequestObject,
) (gen.AddIncidentNoteResponseObject, error) {
	note, err := a.s.model.AddNote(r.IncidentID, callOf(ctx).actor.ID, r.Body.Content)
	if err != nil {
		return nil, err
	}
	return gen.AddIncidentNote201JSONResponse(event(note)), nil
}

func (a *api) DeleteIncidentNote(
	_ context.Context, r gen.DeleteIncidentNoteRequestObject,
) (gen.DeleteIncidentNoteResponseObject, error) {
	if err := a.s.model.DeleteNote(r.IncidentID, r.EventID); err != nil {
		return nil, err
	}
	return gen.DeleteIncidentNote204Response{}, nil
}
