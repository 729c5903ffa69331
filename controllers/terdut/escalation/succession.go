package escalation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// Delete hands the team over to its next rule, so that it is never without a
// policy while one waits; without one, not even one that the cache does not show,
// it clears the policy. A server that does not take an empty policy keeps the one
// it has.
func (k *kind) Delete(ctx context.Context, at attach.Access, r *v1alpha1.TerdutEscalationRule, _ int64) error {
	waiting, err := k.waiting(ctx, at, r, k.Client, client.MatchingFields{refs.ByTeam: r.Spec.TeamRef.Name})
	if err == nil && len(waiting) == 0 {
		waiting, err = k.waiting(ctx, at, r, k.Live)
	}
	if err != nil {
		return err
	}
	for i := range waiting {
		if err = k.putRule(ctx, at, &waiting[i]); !isOfRule(err) {
			return err
		}
	}
	_, err = k.put(ctx, at, policy{})
	if errors.Is(err, terdutapi.ErrInvalid) {
		return &remote.Release{
			Reason:  v1alpha1.ReasonPolicyLeft,
			Message: fmt.Sprintf("the server does not take an empty policy: the one of team %d stays as it is", at.TeamID),
		}
	}
	return err
}

func (k *kind) putRule(ctx context.Context, at attach.Access, r *v1alpha1.TerdutEscalationRule) error {
	next, err := resolve(ctx, at, &r.Spec, remote.Fresh)
	if err != nil {
		return err
	}
	_, err = k.put(ctx, at, next)
	return err
}

// isOfRule tells an error that is about one rule and says nothing about the
// next: a user that is not there, a policy that the server does not accept.
func isOfRule(err error) bool {
	if errors.Is(err, terdutapi.ErrInvalid) {
		return true
	}
	ending, known := outcome.As(err)
	return known && (ending.Reason == v1alpha1.ReasonUserNotFound || ending.Reason == v1alpha1.ReasonInvalid)
}

// waiting are the rules that may follow this one, as a reader shows them, in
// their order: the oldest first. There is none where the team itself goes, or is
// not admitted any more: then nothing but the clean-up is left to do.
func (k *kind) waiting(
	ctx context.Context, at attach.Access, r *v1alpha1.TerdutEscalationRule, from client.Reader, which ...client.ListOption,
) ([]v1alpha1.TerdutEscalationRule, error) {
	list := &v1alpha1.TerdutEscalationRuleList{}
	err := from.List(ctx, list, append(which, client.InNamespace(r.Namespace))...)
	if err != nil {
		return nil, fmt.Errorf("list the rules that wait for TerdutTeam %q: %w", r.Spec.TeamRef.Name, err)
	}
	waiting := slices.DeleteFunc(list.Items, func(o v1alpha1.TerdutEscalationRule) bool {
		return o.UID == r.UID || o.Spec.TeamRef.Name != r.Spec.TeamRef.Name || !o.DeletionTimestamp.IsZero() || v1alpha1.IsOn(&o, v1alpha1.AnnotationPaused)
	})
	if len(waiting) == 0 {
		return nil, nil
	}
	place, _, err := k.Resolve(ctx, r)
	if ending, known := outcome.As(err); known && ending.Status == metav1.ConditionFalse {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if place.ServerUID != at.Server.UID || place.TeamID != at.TeamID {
		return nil, nil // they wait for another team by now
	}
	slices.SortFunc(waiting, func(a, b v1alpha1.TerdutEscalationRule) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	return waiting, nil
}
