package attach

import (
	"errors"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
)

// OfTeam explains the error of a call that reads what a team has. If the server
// has proved that it does not know the team, the object waits for its team,
// which will be made again.
func OfTeam(err error, doing string) error {
	explained := connect.Explain(err, v1alpha1.ConditionSynced, doing)
	if errors.Is(explained, remote.ErrAbsent) {
		return outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonWaitingForTeam,
			"%s: the server does not know the team", doing).Because(explained)
	}
	return explained
}
