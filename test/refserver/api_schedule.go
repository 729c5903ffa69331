package refserver

import (
	"context"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/internal/gen"
)

func (a *api) GetSchedule(_ context.Context, r gen.GetScheduleRequestObject) (gen.GetScheduleResponseObject, error) {
	shifts, err := a.s.model.Shifts(value(r.Params.From), value(r.Params.To))
	if err != nil {
		return nil, err
	}
	return gen.GetSchedule200JSONResponse(each(shifts, a.shift)), nil
}

func (a *api) AssignSchedule(
	_ context.Context, r gen.AssignScheduleRequestObject,
) (gen.AssignScheduleResponseObject, error) {
	shifts, err := a.s.model.AssignShifts(r.Body.UserID, r.Body.Dates, r.Body.Replace)
	if err != nil {
		return nil, err
	}
	return gen.AssignSchedule201JSONResponse(each(shifts, a.shift)), nil
}

func (a *api) GetCurrentOnCall(
	context.Context, gen.GetCurrentOnCallRequestObject,
) (gen.GetCurrentOnCallResponseObject, error) {
	current, err := a.s.model.Current()
	if err != nil {
		return nil, err
	}
	return gen.GetCurrentOnCall200JSONResponse(a.shift(current)), nil
}

func (a *api) DeleteSchedule(
	_ context.Context, r gen.DeleteScheduleRequestObject,
) (gen.DeleteScheduleResponseObject, error) {
	if err := a.s.model.DeleteShift(r.EntryID); err != nil {
		return nil, err
	}
	return gen.DeleteSchedule204Response{}, nil
}
