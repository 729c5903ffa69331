package alertsource

import (
	"context"
	"errors"
	"slices"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// again lists the integrations once more, and asks for the recorded one by its
// ID if the list still lacks it: giving it the name that it has anyway is the
// one question about a single integration that the server answers. What counts
// as gone gets a new key, with which alerts that are sent with the old one are
// lost, so only the server's own word for that ID is good enough.
func again(ctx context.Context, at attach.Access, s *v1alpha1.TerdutAlertSource) ([]int64, error) {
	shown, err := at.API.Integrations(ctx, at.TeamID, remote.Fresh)
	if err != nil {
		return nil, at.OfTeam(ctx, err, "list integrations")
	}
	ids := make([]int64, 0, len(shown)+1)
	for i := range shown {
		ids = append(ids, shown[i].ID)
	}
	recorded := s.Status.Remote.ID
	if slices.Contains(ids, recorded) {
		return ids, nil
	}
	_, err = at.API.RenameIntegration(ctx, at.TeamID, recorded, s.Spec.Name)
	switch {
	case errors.Is(err, terdutapi.ErrNotFound):
		return ids, nil
	case err == nil, errors.Is(err, terdutapi.ErrConflict):
		return append(ids, recorded), nil
	default:
		return nil, connect.Explain(err, v1alpha1.ConditionSynced, "make sure that the integration is gone")
	}
}

// doubt asks a second question while a key is held of an integration that is not
// the recorded one, and that a list does not show: a new key would be written over
// it, and nobody could get it back. What is recorded is doubted by ProveGone.
func doubt(ctx context.Context, at attach.Access, s *v1alpha1.TerdutAlertSource, held []keyed, things []remote.Thing[body]) error {
	recorded := keyed{}
	if recordOf(s) != nil {
		recorded = recordedKey(s)
	}
	held = slices.DeleteFunc(slices.Clone(held), func(key keyed) bool {
		return key.is(recorded) || slices.ContainsFunc(things, func(t remote.Thing[body]) bool { return key.is(named(&t)) })
	})
	if len(held) == 0 {
		return nil
	}
	second, err := at.API.Integrations(ctx, at.TeamID, remote.Fresh)
	if err != nil {
		return at.OfTeam(ctx, err, "list integrations")
	}
	for i := range second {
		t := thing(&second[i])
		if slices.ContainsFunc(held, named(&t).is) {
			return outcome.Unknown(v1alpha1.ConditionSynced, v1alpha1.ReasonUnexpectedAnswer,
				"the list of the integrations of team %d lacked %d, and has it on a second look", at.TeamID, t.ID)
		}
	}
	return nil
}
