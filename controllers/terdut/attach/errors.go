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

// OfTeam explains the error of a call that reads what the team has. If the
// server does not know the team, and does not list it either, the object waits
// for its team, which will be made again.
func (a Access) OfTeam(ctx context.Context, err error, doing string) error {
	explained := connect.Explain(err, v1alpha1.ConditionSynced, doing)
	if errors.Is(explained, remote.ErrAbsent) {
		teams, listing := a.API.Teams(ctx, remote.Fresh)
		switch {
		case listing != nil:
			return connect.Explain(listing, v1alpha1.ConditionSynced, "make sure that the team is gone")
		case slices.ContainsFunc(teams, func(t terdutapi.Team) bool { return t.ID == a.TeamID }):
			return contradiction("%s: the server does not know team %d, which it lists", doing, a.TeamID)
		}
		return outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonWaitingForTeam,
			"%s: the server does not know the team", doing).Because(explained)
	}
	return explained
}
