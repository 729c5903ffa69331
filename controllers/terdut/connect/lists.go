package connect

import (
	"context"
	"slices"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// wrote brings a list up to date with the answer to a write.
func wrote[V any](to *shared[V], id func(*V) int64, answer *V, err error) {
	if err != nil || answer == nil {
		to.drop()
		return
	}
	item := *answer
	to.wrote(nil, put(id, item))
}

func idOfTeam(t *terdutapi.Team) int64               { return t.ID }
func idOfSwitch(s *terdutapi.DeadmanSwitch) int64    { return s.ID }
func idOfIntegration(i *terdutapi.Integration) int64 { return i.ID }

// lists are the lists of one team.
type lists struct {
	escalation   shared[terdutapi.EscalationPolicy]
	switches     shared[terdutapi.DeadmanSwitch]
	integrations shared[terdutapi.Integration]
}

// of is what the session knows of a team.
func (one *session) of(team int64) *lists {
	one.mu.Lock()
	defer one.mu.Unlock()
	l, ok := one.byTeam[team]
	if !ok {
		l = &lists{}
		serve(one, &l.escalation, false, func(ctx context.Context) ([]terdutapi.EscalationPolicy, error) {
			policy, err := one.api.GetEscalation(ctx, team)
			if err != nil {
				return nil, err
			}
			return []terdutapi.EscalationPolicy{*policy}, nil
		})
		serve(one, &l.switches, false, func(ctx context.Context) ([]terdutapi.DeadmanSwitch, error) {
			return one.api.ListDeadmanSwitches(ctx, team)
		})
		serve(one, &l.integrations, false, func(ctx context.Context) ([]terdutapi.Integration, error) {
			return one.api.ListIntegrations(ctx, team)
		})
		one.byTeam[team] = l
	}
	return l
}

// forgetTeam drops the lists of a team that is gone.
func (one *session) forgetTeam(team int64) {
	one.mu.Lock()
	defer one.mu.Unlock()
	delete(one.byTeam, team)
}

// forgetOthers drops the lists of teams that are not on a list.
func (one *session) forgetOthers(teams []terdutapi.Team) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if len(one.byTeam) == 0 {
		return
	}
	there := make([]int64, 0, len(teams))
	for i := range teams {
		there = append(there, teams[i].ID)
	}
	slices.Sort(there)
	for team := range one.byTeam {
		if _, ok := slices.BinarySearch(there, team); !ok {
			delete(one.byTeam, team)
		}
	}
}

// forgetAll drops every snapshot: the server may have come back as another one.
func (one *session) forgetAll() {
	one.teams.drop()
	one.users.drop()
	one.mu.Lock()
	defer one.mu.Unlock()
	clear(one.byTeam)
}

// serve makes a list of the session. common says that it is the same for
// everybody on the server, so that its failure is everybody's.
func serve[V any](one *session, to *shared[V], common bool, read func(context.Context) ([]V, error)) {
	to.window, to.now = one.limits.Window, one.gate.now
	to.read = func(ctx context.Context) ([]V, error) {
		if err := one.gate.check(); err != nil {
			return nil, err
		}
		items, err := read(ctx)
		return items, to.lasting(one.gate.observe(err, common), one.limits.Patience)
	}
}
