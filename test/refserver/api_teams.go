package refserver

import (
	"context"
	"net/http"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/internal/gen"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

func (a *api) ListTeams(ctx context.Context, _ gen.ListTeamsRequestObject) (gen.ListTeamsResponseObject, error) {
	return gen.ListTeams200JSONResponse(each(a.s.model.Teams(callOf(ctx).actor.TeamID), a.team)), nil
}

func (a *api) CreateTeam(_ context.Context, r gen.CreateTeamRequestObject) (gen.CreateTeamResponseObject, error) {
	team, err := a.s.model.CreateTeam(r.Body.Name)
	if err != nil {
		return nil, err
	}
	return gen.CreateTeam201JSONResponse(a.team(team)), nil
}

func (a *api) RenameTeam(_ context.Context, r gen.RenameTeamRequestObject) (gen.RenameTeamResponseObject, error) {
	team, err := a.s.model.RenameTeam(r.TeamID, r.Body.Name)
	if err != nil {
		return nil, err
	}
	return gen.RenameTeam200JSONResponse(a.team(team)), nil
}

func (a *api) DeleteTeam(_ context.Context, r gen.DeleteTeamRequestObject) (gen.DeleteTeamResponseObject, error) {
	if err := a.s.model.DeleteTeam(r.TeamID); err != nil {
		return nil, err
	}
	return gen.DeleteTeam204Response{}, nil
}

func (a *api) SetTeamOIDCGroups(
	_ context.Context, r gen.SetTeamOIDCGroupsRequestObject,
) (gen.SetTeamOIDCGroupsResponseObject, error) {
	team, err := a.s.model.SetGroups(r.TeamID, r.Body.MemberGroup, r.Body.OwnerGroup)
	if err != nil {
		return nil, err
	}
	return gen.SetTeamOIDCGroups200JSONResponse(a.team(team)), nil
}

func (a *api) GetEscalation(_ context.Context, r gen.GetEscalationRequestObject) (gen.GetEscalationResponseObject, error) {
	found, err := a.s.model.Escalation(r.TeamID)
	if err != nil {
		return nil, err
	}
	return gen.GetEscalation200JSONResponse(policy(found)), nil
}

func (a *api) PutEscalation(_ context.Context, r gen.PutEscalationRequestObject) (gen.PutEscalationResponseObject, error) {
	wanted := model.Policy{RepeatCount: r.Body.RepeatCount, FallbackTopic: r.Body.FallbackTopic}
	for _, level := range r.Body.Levels {
		targets, err := targetsOf(level.Targets)
		if err != nil {
			return nil, err
		}
		wanted.Levels = append(wanted.Levels, model.Level{TimeoutText: level.Timeout, Targets: targets})
	}
	stored, err := a.s.model.PutEscalation(r.TeamID, wanted)
	if err != nil {
		return nil, err
	}
	return gen.PutEscalation200JSONResponse(policy(stored)), nil
}

func targetsOf(wire []gen.EscalationTarget) ([]model.Target, error) {
	targets := make([]model.Target, 0, len(wire))
	for _, t := range wire {
		id := value(t.UserID)
		if (t.Kind == gen.TargetUser) != (id > 0) {
			return nil, &model.Refusal{
				Status: http.StatusUnprocessableEntity, Message: "user_id goes with the target kind user, and only with it",
			}
		}
		targets = append(targets, model.Target{UserID: id})
	}
	return targets, nil
}

func (a *api) ListDeadmanSwitches(
	_ context.Context, r gen.ListDeadmanSwitchesRequestObject,
) (gen.ListDeadmanSwitchesResponseObject, error) {
	switches, err := a.s.model.Switches(r.TeamID)
	if err != nil {
		return nil, err
	}
	return gen.ListDeadmanSwitches200JSONResponse(each(switches, a.deadman)), nil
}

func (a *api) CreateDeadmanSwitch(
	_ context.Context, r gen.CreateDeadmanSwitchRequestObject,
) (gen.CreateDeadmanSwitchResponseObject, error) {
	created, err := a.s.model.CreateSwitch(r.TeamID, model.Switch{
		Name: r.Body.Name, Matcher: r.Body.Matcher, TimeoutText: r.Body.Timeout, Severity: r.Body.Severity,
	})
	if err != nil {
		return nil, err
	}
	return gen.CreateDeadmanSwitch201JSONResponse(a.deadman(created)), nil
}

func (a *api) DeleteDeadmanSwitch(
	_ context.Context, r gen.DeleteDeadmanSwitchRequestObject,
) (gen.DeleteDeadmanSwitchResponseObject, error) {
	if err := a.s.model.DeleteSwitch(r.TeamID, r.SwitchID); err != nil {
		return nil, err
	}
	return gen.DeleteDeadmanSwitch204Response{}, nil
}

func (a *api) ListIntegrations(
	_ context.Context, r gen.ListIntegrationsRequestObject,
) (gen.ListIntegrationsResponseObject, error) {
	integrations, err := a.s.model.Integrations(r.TeamID)
	if err != nil {
		return nil, err
	}
	return gen.ListIntegrations200JSONResponse(each(integrations, a.integration)), nil
}

func (a *api) CreateIntegration(
	_ context.Context, r gen.CreateIntegrationRequestObject,
) (gen.CreateIntegrationResponseObject, error) {
	created, key, err := a.s.model.CreateIntegration(r.TeamID, r.Body.Kind, r.Body.Name, a.chosen(r.Body.Key))
	if err != nil {
		return nil, err
	}
	return gen.CreateIntegration201JSONResponse{
		ID: created.ID, TeamID: created.TeamID, Kind: created.Kind, Name: created.Name,
		CreatedAt: a.created(created.CreatedAt), Key: key,
		URL: strings.TrimSuffix(a.s.options.BaseURL, "/") + "/api/webhooks/alertmanager/" + key,
	}, nil
}

func (a *api) RenameIntegration(
	_ context.Context, r gen.RenameIntegrationRequestObject,
) (gen.RenameIntegrationResponseObject, error) {
	renamed, err := a.s.model.RenameIntegration(r.TeamID, r.IntegrationID, r.Body.Name)
	if err != nil {
		return nil, err
	}
	return gen.RenameIntegration200JSONResponse(a.integration(renamed)), nil
}

func (a *api) DeleteIntegration(
	_ context.Context, r gen.DeleteIntegrationRequestObject,
) (gen.DeleteIntegrationResponseObject, error) {
	if err := a.s.model.DeleteIntegration(r.TeamID, r.IntegrationID); err != nil {
		return nil, err
	}
	return gen.DeleteIntegration204Response{}, nil
}
