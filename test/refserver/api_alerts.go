package refserver

import (
	"cmp"
	"context"
	"log"
	"net/http"
	"slices"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/internal/gen"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

const defaultLimit = 100

func limit(asked *int) int {
	if n := value(asked); n > 0 {
		return n
	}
	return defaultLimit
}

func (a *api) ReceiveAlertmanager(
	ctx context.Context, r gen.ReceiveAlertmanagerRequestObject,
) (gen.ReceiveAlertmanagerResponseObject, error) {
	hook := model.Webhook{GroupKey: r.Body.GroupKey}
	for _, in := range r.Body.Alerts {
		hook.Alerts = append(hook.Alerts, model.Alert{
			Firing: in.Status == gen.AlertFiring, Labels: in.Labels, Annotations: in.Annotations,
			StartsAt: in.StartsAt, EndsAt: value(in.EndsAt), GeneratorURL: in.GeneratorURL, Fingerprint: in.Fingerprint,
		})
	}
	pages, err := a.s.model.Ingest(r.IntegrationKey, hook)
	if err != nil {
		return nil, err
	}
	// The alerts are stored: what becomes of the pages stands in the timeline and is no error of the sender.
	if err = a.s.deliver(context.WithoutCancel(ctx), pages); err != nil {
		log.Printf("deliver pages: %v", err)
	}
	return gen.ReceiveAlertmanager204Response{}, nil
}

func (a *api) ListAlerts(_ context.Context, r gen.ListAlertsRequestObject) (gen.ListAlertsResponseObject, error) {
	list := []gen.Alert{}
	for _, found := range a.s.model.Alerts() {
		if len(list) == limit(r.Params.Limit) {
			break
		}
		out := alert(found)
		if (r.Params.Status == nil || *r.Params.Status == out.Status) &&
			value(r.Params.Archived) == (found.ArchivedAt != nil) {
			list = append(list, out)
		}
	}
	return gen.ListAlerts200JSONResponse(list), nil
}

func (a *api) GetAlert(_ context.Context, r gen.GetAlertRequestObject) (gen.GetAlertResponseObject, error) {
	for _, found := range a.s.model.Alerts() {
		if found.ID == r.AlertID {
			return gen.GetAlert200JSONResponse(alert(found)), nil
		}
	}
	return nil, &model.Refusal{Status: http.StatusNotFound, Message: "alert not found"}
}

func (a *api) GetIncidentStats(
	context.Context, gen.GetIncidentStatsRequestObject,
) (gen.GetIncidentStatsResponseObject, error) {
	stats := gen.IncidentStats{}
	for _, i := range a.s.model.Incidents() {
		stats.Total++
		switch status(i) {
		case gen.IncidentTriggered:
			stats.Triggered++
		case gen.IncidentAcknowledged:
			stats.Acknowledged++
		case gen.IncidentResolved:
			stats.Resolved++
		}
	}
	return gen.GetIncidentStats200JSONResponse(stats), nil
}

func (a *api) GetAlertStats(context.Context, gen.GetAlertStatsRequestObject) (gen.GetAlertStatsResponseObject, error) {
	stats := gen.AlertStats{}
	for _, found := range a.s.model.Alerts() {
		stats.Total++
		if found.Firing {
			stats.Firing++
		} else {
			stats.Resolved++
		}
	}
	return gen.GetAlertStats200JSONResponse(stats), nil
}

// tally counts alerts by a property.
func tally[K comparable](alerts []model.Alert, of func(model.Alert) K) map[K]int64 {
	counts := map[K]int64{}
	for _, found := range alerts {
		counts[of(found)]++
	}
	return counts
}

func (a *api) GetTopAlerts(_ context.Context, r gen.GetTopAlertsRequestObject) (gen.GetTopAlertsResponseObject, error) {
	top := []gen.NameCount{}
	for name, count := range tally(a.s.model.Alerts(), func(al model.Alert) string { return al.Name }) {
		top = append(top, gen.NameCount{Name: name, Count: count})
	}
	slices.SortFunc(top, func(x, y gen.NameCount) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Name, y.Name))
	})
	return gen.GetTopAlerts200JSONResponse(top[:min(len(top), limit(r.Params.Limit))]), nil
}

func (a *api) GetAlertsByHour(
	context.Context, gen.GetAlertsByHourRequestObject,
) (gen.GetAlertsByHourResponseObject, error) {
	hours := []gen.HourCount{}
	for hour, count := range tally(a.s.model.Alerts(), func(al model.Alert) int { return al.ReceivedAt.Hour() }) {
		hours = append(hours, gen.HourCount{Hour: hour, Count: count})
	}
	slices.SortFunc(hours, func(x, y gen.HourCount) int { return cmp.Compare(x.Hour, y.Hour) })
	return gen.GetAlertsByHour200JSONResponse(hours), nil
}

func (a *api) GetAlertsByDay(context.Context, gen.GetAlertsByDayRequestObject) (gen.GetAlertsByDayResponseObject, error) {
	days := []gen.DayCount{}
	date := func(al model.Alert) string { return al.ReceivedAt.Format(time.DateOnly) }
	for day, count := range tally(a.s.model.Alerts(), date) {
		days = append(days, gen.DayCount{Date: day, Count: count})
	}
	slices.SortFunc(days, func(x, y gen.DayCount) int { return cmp.Compare(x.Date, y.Date) })
	return gen.GetAlertsByDay200JSONResponse(days), nil
}
