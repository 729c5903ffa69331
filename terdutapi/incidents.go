package terdutapi

import "context"

// ListAlerts returns alerts, newest first; nil parameters mean the server's defaults.
func (c *Client) ListAlerts(ctx context.Context, params *ListAlertsParams) ([]Alert, error) {
	return array[Alert](c.raw.ListAlerts(ctx, params))
}

// ListIncidents returns incidents, newest first, without their alerts; nil parameters mean the server's defaults.
func (c *Client) ListIncidents(ctx context.Context, params *ListIncidentsParams) ([]Incident, error) {
	return array[Incident](c.raw.ListIncidents(ctx, params))
}

// GetIncident returns one incident with its alerts.
func (c *Client) GetIncident(ctx context.Context, incidentID int64) (*Incident, error) {
	return object[Incident](c.raw.GetIncident(ctx, incidentID))
}

// GetIncidentTimeline returns what happened to an incident, oldest first.
func (c *Client) GetIncidentTimeline(ctx context.Context, incidentID int64) ([]TimelineEvent, error) {
	return array[TimelineEvent](c.raw.GetIncidentTimeline(ctx, incidentID))
}

// AcknowledgeIncident acknowledges an incident for the caller and returns it as it is now.
func (c *Client) AcknowledgeIncident(ctx context.Context, incidentID int64) (*Incident, error) {
	return object[Incident](c.raw.AcknowledgeIncident(ctx, incidentID))
}

// ResolveIncident resolves an incident for good; ErrConflict when it is resolved already.
func (c *Client) ResolveIncident(ctx context.Context, incidentID int64) (*Incident, error) {
	return object[Incident](c.raw.ResolveIncident(ctx, incidentID))
}

// GetSchedule returns who is on call on which date; nil parameters mean from today on.
func (c *Client) GetSchedule(ctx context.Context, params *GetScheduleParams) ([]ScheduleEntry, error) {
	return array[ScheduleEntry](c.raw.GetSchedule(ctx, params))
}

// GetCurrentOnCall returns who is on call today; ErrNotFound when nobody is.
func (c *Client) GetCurrentOnCall(ctx context.Context) (*ScheduleEntry, error) {
	return object[ScheduleEntry](c.raw.GetCurrentOnCall(ctx))
}

// AssignSchedule puts a user on call on dates and returns the entries; ErrConflict when somebody holds a date and
// req.Replace is not set.
func (c *Client) AssignSchedule(ctx context.Context, req AssignScheduleRequest) ([]ScheduleEntry, error) {
	return array[ScheduleEntry](c.raw.AssignSchedule(ctx, req))
}
