package server

import (
	"context"
	"errors"
	"slices"
	"strings"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// unfit is a new key that cannot do what the one before can.
func unfit(what string) *outcome.Ending {
	return outcome.Refused(v1alpha1.ConditionBootstrapped, v1alpha1.ReasonKeyNotAccepted,
		"a new key was made and cannot %s as the one before can; it is revoked, and the one before stays in use", what)
}

// proveKey makes sure that a new key can do what the one before can. One that
// cannot is revoked, so a no is heard twice: one answer may come from something
// else.
func (r *Reconciler) proveKey(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, fresh *credential) error {
	err := r.tryKey(ctx, server, api, fresh)
	if isUnfit(err) {
		err = r.tryKey(ctx, server, api, fresh)
	}
	return err
}

// isUnfit tells whether a key was proved to be of no use.
func isUnfit(err error) bool {
	ending, ended := outcome.As(err)
	return ended && ending.Stalled && ending.Reason == v1alpha1.ReasonKeyNotAccepted
}

// tryKey does with a new key what the one before can do: the same reads, and
// where there is a team one write that changes nothing.
func (r *Reconciler) tryKey(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, fresh *credential) error {
	me, err := r.accepts(ctx, server, fresh.key)
	if errors.Is(err, errNotAccepted) {
		return unfit("sign in")
	}
	if err != nil {
		return err
	}
	*fresh = *fresh.of(server, me)
	next, err := r.Clients.Client(ctx, server, fresh.key)
	if err != nil {
		return err
	}
	before, err := api.ListTeams(ctx)
	if err != nil {
		return connect.Explain(err, v1alpha1.ConditionBootstrapped, "list the teams with the earlier key")
	}
	after, err := next.ListTeams(ctx)
	switch {
	case errors.Is(err, terdutapi.ErrForbidden), errors.Is(err, terdutapi.ErrUnauthorized):
		return unfit("list the teams")
	case err != nil:
		return connect.Explain(err, v1alpha1.ConditionBootstrapped, "list the teams with the new key")
	}
	for _, t := range before {
		if !slices.ContainsFunc(after, func(other terdutapi.Team) bool { return other.ID == t.ID }) {
			return unfit("see every team")
		}
	}
	return writesNothing(ctx, next, after)
}

// writesNothing renames a team to the name that it bears. One whose name is
// provisional is about to get another.
func writesNothing(ctx context.Context, next *terdutapi.Client, teams []terdutapi.Team) error {
	for _, t := range teams {
		if strings.Contains(t.Name, "-terdut-") || strings.Contains(t.Name, "-retired-") {
			continue
		}
		_, err := next.RenameTeam(ctx, t.ID, t.Name)
		switch {
		case err == nil, errors.Is(err, terdutapi.ErrConflict), errors.Is(err, terdutapi.ErrInvalid):
			return nil
		case errors.Is(err, terdutapi.ErrNotFound):
			continue // it has just been deleted
		case errors.Is(err, terdutapi.ErrForbidden), errors.Is(err, terdutapi.ErrUnauthorized):
			return unfit("write to a team")
		}
		return connect.Explain(err, v1alpha1.ConditionBootstrapped, "write with the new key")
	}
	return nil
}
