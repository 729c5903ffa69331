// Package deadman makes a TerdutDeadmanSwitch a dead man's switch of its team.
// The server can make and delete switches, not change them.
package deadman

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	ac "git.ryuvia.com/niklas/terdut-operator/applyconfig/terdut/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// body is a switch as it is written down; Compare reads it by value.
type body struct {
	name, matcher, timeout, severity string
}

type kind struct {
	attach.Deps
}

func (k *kind) Resolve(ctx context.Context, s *v1alpha1.TerdutDeadmanSwitch) (remote.Place, attach.Access, error) {
	return k.Resolver.Child(ctx, s.Namespace, s.Spec.TeamRef.Name)
}

func (k *kind) Recorded(ctx context.Context, s *v1alpha1.TerdutDeadmanSwitch) (remote.Place, attach.Access, error) {
	return k.Resolver.RecordedChild(ctx, s.Namespace, s.Spec.TeamRef.Name, s.Status.Remote)
}

func (k *kind) Desired(
	_ context.Context, _ attach.Access, s *v1alpha1.TerdutDeadmanSwitch, _ remote.Freshness,
) (remote.Want[body], error) {
	return remote.Want[body]{Name: s.Spec.Name, Body: body{
		name: s.Spec.Name, matcher: s.Spec.Matcher, timeout: string(s.Spec.Timeout), severity: s.Spec.Severity,
	}}, nil
}

func (k *kind) List(
	ctx context.Context, at attach.Access, s *v1alpha1.TerdutDeadmanSwitch, as remote.Freshness,
) ([]remote.Thing[body], error) {
	out, err := list(ctx, at, as)
	if err != nil {
		return nil, err
	}
	return out, at.ProveGone(ctx, s.Status.Remote, remote.IDs(out), as, func(ctx context.Context) ([]int64, error) {
		again, failed := list(ctx, at, remote.Fresh)
		return remote.IDs(again), failed
	})
}

func list(ctx context.Context, at attach.Access, as remote.Freshness) ([]remote.Thing[body], error) {
	switches, err := at.API.DeadmanSwitches(ctx, at.TeamID, as)
	if err != nil {
		return nil, at.OfTeam(ctx, err, "list dead man's switches")
	}
	out := make([]remote.Thing[body], 0, len(switches))
	for i := range switches {
		out = append(out, thing(&switches[i]))
	}
	return out, nil
}

func (k *kind) Compare(want, got body) remote.Difference { return differs(want, got) }

func (k *kind) Create(
	ctx context.Context, at attach.Access, _ *v1alpha1.TerdutDeadmanSwitch, want remote.Want[body],
) (remote.Thing[body], error) {
	made, err := at.API.CreateDeadmanSwitch(ctx, at.TeamID, terdutapi.DeadmanSwitchRequest{
		Name: want.Name, Matcher: want.Body.matcher, Timeout: want.Body.timeout, Severity: want.Body.severity,
	})
	if err != nil {
		return remote.Thing[body]{}, connect.Explain(err, v1alpha1.ConditionSynced, fmt.Sprintf("create dead man's switch %q", want.Name))
	}
	return thing(made), nil
}

// Publish has nothing to do: the answer to a create call holds no secret.
func (k *kind) Publish(context.Context, attach.Access, *v1alpha1.TerdutDeadmanSwitch, remote.Thing[body]) error {
	return nil
}

// Update is never asked of a kind whose every difference means a new object.
func (k *kind) Update(
	_ context.Context, _ attach.Access, _ *v1alpha1.TerdutDeadmanSwitch, _ remote.Want[body], got remote.Thing[body],
) (remote.Thing[body], error) {
	return got, fmt.Errorf("dead man's switch %q cannot be changed in place", got.Name)
}

func (k *kind) Delete(ctx context.Context, at attach.Access, _ *v1alpha1.TerdutDeadmanSwitch, id int64) error {
	err := at.API.DeleteDeadmanSwitch(ctx, at.TeamID, id)
	return connect.Explain(err, v1alpha1.ConditionSynced, fmt.Sprintf("delete dead man's switch %d", id))
}

func (k *kind) Load(s *v1alpha1.TerdutDeadmanSwitch) remote.State[body] {
	state := attach.Load[body](&s.Status.RemoteStatus)
	if a := s.Status.Applied; a != nil {
		state.Applied = &body{name: a.Name, matcher: a.Matcher, timeout: string(a.Timeout), severity: a.Severity}
	}
	return state
}

func (k *kind) Store(s *v1alpha1.TerdutDeadmanSwitch, state remote.State[body]) {
	attach.Store(&s.Status.RemoteStatus, state)
	s.Status.SwitchID, s.Status.Applied = 0, nil
	if state.Record != nil {
		s.Status.SwitchID = state.Record.ID
	}
	if a := state.Applied; a != nil {
		s.Status.Applied = &v1alpha1.AppliedSwitch{
			Name: a.name, Matcher: a.matcher, Timeout: v1alpha1.Duration(a.timeout), Severity: a.severity,
		}
	}
}

func (k *kind) Status(s *v1alpha1.TerdutDeadmanSwitch) (runtime.ApplyConfiguration, error) {
	config, err := status.Into[ac.TerdutDeadmanSwitchStatusApplyConfiguration](s.Status)
	if err != nil {
		return nil, err
	}
	return ac.TerdutDeadmanSwitch(s.Name, s.Namespace).WithUID(s.UID).WithResourceVersion(s.ResourceVersion).WithStatus(config), nil
}

func thing(s *terdutapi.DeadmanSwitch) remote.Thing[body] {
	return remote.Thing[body]{
		ID: s.ID, Name: s.Name, CreatedAt: attach.Time(s.CreatedAt),
		Body: body{name: s.Name, matcher: s.Matcher, timeout: s.Timeout, severity: s.Severity},
	}
}
