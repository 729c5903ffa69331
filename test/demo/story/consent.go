package story

import (
	"context"
	"fmt"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// nobody lets in only teams of the server's own namespace.
const nobody = `{"spec":{"allowedTeams":{"namespaces":{"from":"None","selector":null}}}}`

// consent proves that a server's owner can turn a namespace away, that nothing is destroyed by that, and that the way back
// is one edit.
func consent(ctx context.Context, w *world) error {
	if _, err := w.Kubectl(ctx, "patch", "terdutserver", serverName, "-n", platform, "--type=merge", "-p", nobody); err != nil {
		return err
	}
	w.Line("   kubectl patch terdutserver: spec.allowedTeams.namespaces.from is None")
	err := w.await(ctx, "the team and everything on it are refused", func(ctx context.Context) error {
		for _, kind := range []string{"TerdutTeam", "TerdutEscalationRule", "TerdutDeadmanSwitch", "TerdutAlertSource"} {
			if err := w.shows(ctx, kind, v1alpha1.ReasonRefNotPermitted); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err = w.tell(ctx, "TerdutTeam"); err != nil {
		return err
	}
	if err = stays(ctx, w); err != nil {
		return err
	}
	w.Line("ok team %d is still on the server, with its policy, switch and integration", w.teamID)

	// The sample says who is let in, and takes the field back from the patch.
	if _, err = w.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-k", sample); err != nil {
		return err
	}
	w.Line("   kubectl apply --server-side --force-conflicts -k %s", sample)
	if err = w.await(ctx, "all five are ready again", w.allSettled); err != nil {
		return err
	}
	return stays(ctx, w)
}

// stays complains unless the team that was there before is on the server, whole.
func stays(ctx context.Context, w *world) error {
	v, err := look(ctx, w.api)
	if err != nil {
		return err
	}
	if v.team.ID != w.teamID || v.team.Name != displayed || len(v.policy.Levels) == 0 {
		return fmt.Errorf("the server has team %d, %q, with %d levels of escalation, want team %d as it was",
			v.team.ID, v.team.Name, len(v.policy.Levels), w.teamID)
	}
	return nil
}
