package attach

import (
	"context"
	"errors"
	"slices"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// ProveGone asks a second question before a recorded object that a list does
// not show counts as gone: a list that is empty by mistake looks like that of a
// server on which nothing is left, and what is believed gone is made again. It
// costs nothing while the object is shown, and is not asked of a snapshot, from
// which nothing follows. again lists what belongs to a team once more; for the
// teams themselves, of which each can be asked for, it is nil.
func (a Access) ProveGone(
	ctx context.Context, recorded *v1alpha1.RemoteIdentity, shown []int64, as remote.Freshness, again func(context.Context) ([]int64, error),
) error {
	if as == remote.Snapshot || recorded == nil || recorded.ServerUID != a.Server.UID || slices.Contains(shown, recorded.ID) {
		return nil
	}
	if a.TeamID == 0 {
		return a.proveTeamGone(ctx, recorded.ID)
	}
	if recorded.TeamID != a.TeamID {
		return nil // it went with its team
	}
	if err := a.proveListing(ctx); err != nil {
		return err
	}
	second, err := again(ctx)
	switch {
	case err != nil:
		return err
	case slices.Contains(second, recorded.ID):
		return contradiction("the list of what belongs to team %d lacked %d, and has it on a second look", a.TeamID, recorded.ID)
	default:
		return nil
	}
}

// TeamCreatedAt is the creation time of the team as the server shows it, as a
// record keeps it; empty where it shows none. It is as old as the list that
// everybody shares, which an outage and a new session end.
func (a Access) TeamCreatedAt(ctx context.Context) (string, error) {
	teams, err := a.API.Teams(ctx, remote.Snapshot)
	if err != nil {
		return "", connect.Explain(err, v1alpha1.ConditionSynced, "list teams")
	}
	i := slices.IndexFunc(teams, func(t terdutapi.Team) bool { return t.ID == a.TeamID })
	if i < 0 {
		return "", nil
	}
	return Time(teams[i].CreatedAt), nil
}

// sameTeam makes sure that the ID of the team is not that of another team by
// now, as on a server that came back with other data: its policy, switches and
// integrations are somebody else's. The TerdutTeam finds its own team again.
func (a Access) sameTeam(ctx context.Context, recorded string) error {
	shown, err := a.TeamCreatedAt(ctx)
	if err != nil || shown == "" || recorded == "" || shown == recorded {
		return err
	}
	return waitingForTeam("the server has another team under ID %d by now", a.TeamID)
}

// proveTeamGone: only a proved 404 for what every team has means that the team
// is gone.
func (a Access) proveTeamGone(ctx context.Context, id int64) error {
	_, err := a.API.Escalation(ctx, id, remote.Fresh)
	switch {
	case errors.Is(err, terdutapi.ErrNotFound):
		return nil
	case err != nil:
		return connect.Explain(err, v1alpha1.ConditionSynced, "make sure that the team is gone")
	}
	return contradiction("list teams: the list lacks team %d, which the server has", id)
}

// proveListing makes sure that the server still lists what is there: the team
// whose empty list it has just given.
func (a Access) proveListing(ctx context.Context) error {
	teams, err := a.API.Teams(ctx, remote.Fresh)
	if err != nil {
		return connect.Explain(err, v1alpha1.ConditionSynced, "make sure that the server lists what it has")
	}
	if !slices.ContainsFunc(teams, func(t terdutapi.Team) bool { return t.ID == a.TeamID }) {
		return contradiction("list teams: the list lacks team %d, which the server has", a.TeamID)
	}
	return nil
}

func contradiction(format string, args ...any) error {
	return outcome.Unknown(v1alpha1.ConditionSynced, v1alpha1.ReasonUnexpectedAnswer, format, args...)
}
