// Package escalation makes a TerdutEscalationRule the escalation policy of its
// team. A team has one policy, always: it is never created, only held.
package escalation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	ac "git.ryuvia.com/niklas/terdut-operator/applyconfig/terdut/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

type kind struct {
	attach.Deps
}

func (k *kind) Resolve(ctx context.Context, r *v1alpha1.TerdutEscalationRule) (remote.Place, attach.Access, error) {
	return k.Resolver.Child(ctx, r.Namespace, r.Spec.TeamRef.Name)
}

func (k *kind) Recorded(ctx context.Context, r *v1alpha1.TerdutEscalationRule) (remote.Place, attach.Access, error) {
	return k.Resolver.RecordedChild(ctx, r.Namespace, r.Spec.TeamRef.Name, r.Status.Remote)
}

func (k *kind) Desired(
	ctx context.Context, at attach.Access, r *v1alpha1.TerdutEscalationRule, as remote.Freshness,
) (remote.Want[policy], error) {
	want, err := resolve(ctx, at, &r.Spec, as)
	return remote.Want[policy]{Name: nameOf(at), Body: want}, err
}

func (k *kind) List(
	ctx context.Context, at attach.Access, _ *v1alpha1.TerdutEscalationRule, as remote.Freshness,
) ([]remote.Thing[policy], error) {
	got, err := at.API.Escalation(ctx, at.TeamID, as)
	if err != nil {
		return nil, at.OfTeam(ctx, err, "read the escalation policy")
	}
	one, err := thing(at, got)
	if err != nil {
		return nil, err
	}
	// A policy is as old as its team, and belongs to nobody else than that.
	one.CreatedAt, err = at.TeamCreatedAt(ctx)
	return []remote.Thing[policy]{one}, err
}

func (k *kind) Compare(want, got policy) remote.Difference { return differs(want, got) }

// Create is never asked of a kind whose object is always there.
func (k *kind) Create(
	context.Context, attach.Access, *v1alpha1.TerdutEscalationRule, remote.Want[policy],
) (remote.Thing[policy], error) {
	return remote.Thing[policy]{}, errors.New("an escalation policy is always there and cannot be created")
}

// Publish has nothing to do: no answer holds a secret.
func (k *kind) Publish(context.Context, attach.Access, *v1alpha1.TerdutEscalationRule, remote.Thing[policy]) error {
	return nil
}

func (k *kind) Update(
	ctx context.Context, at attach.Access, _ *v1alpha1.TerdutEscalationRule, want remote.Want[policy], got remote.Thing[policy],
) (remote.Thing[policy], error) {
	now, err := k.put(ctx, at, want.Body)
	now.CreatedAt = got.CreatedAt
	return now, err
}

func (k *kind) put(ctx context.Context, at attach.Access, p policy) (remote.Thing[policy], error) {
	got, err := at.API.PutEscalation(ctx, at.TeamID, p.request())
	if err != nil {
		return remote.Thing[policy]{}, connect.Explain(err, v1alpha1.ConditionSynced, "write the escalation policy")
	}
	return thing(at, got)
}

func (k *kind) Load(r *v1alpha1.TerdutEscalationRule) remote.State[policy] {
	return attach.Load[policy](&r.Status.RemoteStatus)
}

func (k *kind) Store(r *v1alpha1.TerdutEscalationRule, s remote.State[policy]) {
	attach.Store(&r.Status.RemoteStatus, s)
}

func (k *kind) Status(r *v1alpha1.TerdutEscalationRule) (runtime.ApplyConfiguration, error) {
	s, err := status.Into[ac.TerdutEscalationRuleStatusApplyConfiguration](r.Status)
	if err != nil {
		return nil, err
	}
	return ac.TerdutEscalationRule(r.Name, r.Namespace).WithUID(r.UID).WithResourceVersion(r.ResourceVersion).WithStatus(s), nil
}

func thing(at attach.Access, p *terdutapi.EscalationPolicy) (remote.Thing[policy], error) {
	body, err := parse(p)
	return remote.Thing[policy]{ID: at.TeamID, Name: nameOf(at), Body: body, Empty: body.empty()}, err
}

// nameOf names a policy, which has no name of its own.
func nameOf(at attach.Access) string { return fmt.Sprintf("of team %d", at.TeamID) }

func equalTargets(a, b []target) bool { return slices.Equal(a, b) }
