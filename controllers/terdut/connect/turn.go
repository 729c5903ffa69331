package connect

import (
	"context"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// Turn is the access of one pass to one server, through the session that all
// share. Its first call takes a token, of which every namespace gets its share;
// what follows is charged without asking, since a pass that stops half-way has
// asked for nothing. A Turn belongs to its pass and is not shared.
//
// Lists come from the session, which reads them once for everybody, and every
// write brings them up to date.
type Turn struct {
	session   *session
	namespace string
	admitted  bool
}

// admit takes the pass's token, or says when to come again.
func (t *Turn) admit() error {
	if err := t.session.gate.check(); err != nil {
		return err
	}
	if t.admitted {
		t.session.tokens.charge(t.namespace)
		return nil
	}
	if wait := t.session.tokens.take(t.namespace); wait > 0 {
		return &Pause{For: wait}
	}
	t.admitted = true
	return nil
}

// call makes one call of the pass's own.
func call[R any](ctx context.Context, t *Turn, f func(context.Context, *terdutapi.Client) (R, error)) (R, error) {
	if err := t.admit(); err != nil {
		var none R
		return none, err
	}
	answer, err := f(ctx, t.session.api)
	return answer, t.session.gate.observe(err, false)
}

// list is a list of the session, as fresh as that. A snapshot that is there
// costs nothing.
func list[V any](ctx context.Context, t *Turn, from *shared[V], as remote.Freshness) ([]V, error) {
	if _, ok := from.current(); !ok || as == remote.Fresh {
		if err := t.admit(); err != nil {
			return nil, err
		}
	}
	return from.get(ctx, as)
}

// CreateServiceAccount makes a service account.
func (t *Turn) CreateServiceAccount(ctx context.Context, r terdutapi.CreateServiceAccountRequest) (*terdutapi.CreatedServiceAccount, error) {
	return call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (*terdutapi.CreatedServiceAccount, error) {
		return api.CreateServiceAccount(ctx, r)
	})
}

// FindServiceAccount finds a service account by its name.
func (t *Turn) FindServiceAccount(ctx context.Context, name string) (*terdutapi.ServiceAccount, error) {
	return call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (*terdutapi.ServiceAccount, error) {
		return api.FindServiceAccount(ctx, name)
	})
}

// ListServiceAccountKeys are the keys of a service account.
func (t *Turn) ListServiceAccountKeys(ctx context.Context, account int64) ([]terdutapi.ServiceAccountKey, error) {
	return call(ctx, t, func(ctx context.Context, api *terdutapi.Client) ([]terdutapi.ServiceAccountKey, error) {
		return api.ListServiceAccountKeys(ctx, account)
	})
}

// DeleteServiceAccount deletes a service account and its keys.
func (t *Turn) DeleteServiceAccount(ctx context.Context, account int64) error {
	_, err := call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (struct{}, error) {
		return struct{}{}, api.DeleteServiceAccount(ctx, account)
	})
	return err
}

// Teams are all teams of the server.
func (t *Turn) Teams(ctx context.Context, as remote.Freshness) ([]terdutapi.Team, error) {
	return list(ctx, t, &t.session.teams, as)
}

// Users are all users of the server.
func (t *Turn) Users(ctx context.Context, as remote.Freshness) ([]terdutapi.User, error) {
	return list(ctx, t, &t.session.users, as)
}

// CreateTeam makes a team.
func (t *Turn) CreateTeam(ctx context.Context, name string) (*terdutapi.Team, error) {
	return t.writeTeam(ctx, func(ctx context.Context, api *terdutapi.Client) (*terdutapi.Team, error) {
		return api.CreateTeam(ctx, name)
	})
}

// RenameTeam gives a team another name.
func (t *Turn) RenameTeam(ctx context.Context, id int64, name string) (*terdutapi.Team, error) {
	return t.writeTeam(ctx, func(ctx context.Context, api *terdutapi.Client) (*terdutapi.Team, error) {
		return api.RenameTeam(ctx, id, name)
	})
}

// SetTeamOIDCGroups sets the identity provider's groups of a team.
func (t *Turn) SetTeamOIDCGroups(ctx context.Context, id int64, groups terdutapi.OIDCGroups) (*terdutapi.Team, error) {
	return t.writeTeam(ctx, func(ctx context.Context, api *terdutapi.Client) (*terdutapi.Team, error) {
		return api.SetTeamOIDCGroups(ctx, id, groups)
	})
}

func (t *Turn) writeTeam(ctx context.Context, f func(context.Context, *terdutapi.Client) (*terdutapi.Team, error)) (*terdutapi.Team, error) {
	team, err := call(ctx, t, f)
	wrote(&t.session.teams, idOfTeam, team, err)
	return team, err
}

// DeleteTeam deletes a team and everything that belongs to it.
func (t *Turn) DeleteTeam(ctx context.Context, id int64) error {
	_, err := call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (struct{}, error) {
		return struct{}{}, api.DeleteTeam(ctx, id)
	})
	t.session.teams.wrote(err, without(idOfTeam, id))
	if err == nil {
		t.session.forgetTeam(id)
	}
	return err
}

// Escalation is the escalation policy of a team.
func (t *Turn) Escalation(ctx context.Context, team int64, as remote.Freshness) (*terdutapi.EscalationPolicy, error) {
	got, err := list(ctx, t, &t.session.of(team).escalation, as)
	if err != nil || len(got) == 0 {
		return nil, err
	}
	return &got[0], nil
}

// PutEscalation replaces the escalation policy of a team.
func (t *Turn) PutEscalation(ctx context.Context, team int64, p terdutapi.EscalationPolicy) (*terdutapi.EscalationPolicy, error) {
	got, err := call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (*terdutapi.EscalationPolicy, error) {
		return api.PutEscalation(ctx, team, p)
	})
	t.session.of(team).escalation.wrote(err, func([]terdutapi.EscalationPolicy) []terdutapi.EscalationPolicy {
		return []terdutapi.EscalationPolicy{*got}
	})
	return got, err
}

// DeadmanSwitches are the dead man's switches of a team.
func (t *Turn) DeadmanSwitches(ctx context.Context, team int64, as remote.Freshness) ([]terdutapi.DeadmanSwitch, error) {
	return list(ctx, t, &t.session.of(team).switches, as)
}

// CreateDeadmanSwitch makes a dead man's switch.
func (t *Turn) CreateDeadmanSwitch(ctx context.Context, team int64, r terdutapi.DeadmanSwitchRequest) (*terdutapi.DeadmanSwitch, error) {
	made, err := call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (*terdutapi.DeadmanSwitch, error) {
		return api.CreateDeadmanSwitch(ctx, team, r)
	})
	wrote(&t.session.of(team).switches, idOfSwitch, made, err)
	return made, err
}

// DeleteDeadmanSwitch deletes a dead man's switch.
func (t *Turn) DeleteDeadmanSwitch(ctx context.Context, team, id int64) error {
	_, err := call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (struct{}, error) {
		return struct{}{}, api.DeleteDeadmanSwitch(ctx, team, id)
	})
	t.session.of(team).switches.wrote(err, without(idOfSwitch, id))
	return err
}

// Integrations are the integrations of a team.
func (t *Turn) Integrations(ctx context.Context, team int64, as remote.Freshness) ([]terdutapi.Integration, error) {
	return list(ctx, t, &t.session.of(team).integrations, as)
}

// CreateIntegration makes an integration. Its key is in the answer and nowhere
// else.
func (t *Turn) CreateIntegration(
	ctx context.Context, team int64, r terdutapi.CreateIntegrationRequest,
) (*terdutapi.CreatedIntegration, error) {
	made, err := call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (*terdutapi.CreatedIntegration, error) {
		return api.CreateIntegration(ctx, team, r)
	})
	var shown *terdutapi.Integration
	if err == nil {
		shown = &terdutapi.Integration{ID: made.ID, Name: made.Name, Kind: made.Kind, CreatedAt: made.CreatedAt}
	}
	wrote(&t.session.of(team).integrations, idOfIntegration, shown, err)
	return made, err
}

// RenameIntegration gives an integration another name.
func (t *Turn) RenameIntegration(ctx context.Context, team, id int64, name string) (*terdutapi.Integration, error) {
	now, err := call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (*terdutapi.Integration, error) {
		return api.RenameIntegration(ctx, team, id, name)
	})
	wrote(&t.session.of(team).integrations, idOfIntegration, now, err)
	return now, err
}

// DeleteIntegration deletes an integration and ends its key.
func (t *Turn) DeleteIntegration(ctx context.Context, team, id int64) error {
	_, err := call(ctx, t, func(ctx context.Context, api *terdutapi.Client) (struct{}, error) {
		return struct{}{}, api.DeleteIntegration(ctx, team, id)
	})
	t.session.of(team).integrations.wrote(err, without(idOfIntegration, id))
	return err
}
