package escalation

import (
	"context"
	"fmt"
	"time"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// policy is an escalation policy in a form that can be compared: times as
// values, users as IDs. The order of levels and targets is part of it.
type policy struct {
	repeat   int
	fallback string
	levels   []level
}

type level struct {
	timeout time.Duration
	targets []target
}

// target is whoever is on call, or one user; then userID is not 0.
type target struct {
	userID int64
}

// resolve turns the spec into a policy. Users are asked for only where a
// target names one.
func resolve(
	ctx context.Context, at attach.Access, spec *v1alpha1.TerdutEscalationRuleSpec, as remote.Freshness,
) (policy, error) {
	users, err := usersByName(ctx, at, spec, as)
	if err != nil {
		return policy{}, err
	}
	out := policy{repeat: int(spec.RepeatCount), fallback: spec.FallbackTopic}
	for i, l := range spec.Levels {
		timeout, err := time.ParseDuration(string(l.Timeout))
		if err != nil {
			return policy{}, outcome.Refused(v1alpha1.ConditionSynced, v1alpha1.ReasonInvalid,
				"spec.levels[%d].timeout: %q is not a duration: write one such as 5m", i, l.Timeout)
		}
		next := level{timeout: timeout}
		for j, t := range l.Targets {
			if t.Kind != v1alpha1.TargetUser {
				next.targets = append(next.targets, target{})
				continue
			}
			id, ok := users[t.Username]
			if !ok {
				return policy{}, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonUserNotFound,
					"spec.levels[%d].targets[%d].username: the server has no user %q: create that user, or name another", i, j, t.Username)
			}
			next.targets = append(next.targets, target{userID: id})
		}
		out.levels = append(out.levels, next)
	}
	return out, nil
}

func usersByName(
	ctx context.Context, at attach.Access, spec *v1alpha1.TerdutEscalationRuleSpec, as remote.Freshness,
) (map[string]int64, error) {
	if !namesUsers(spec) {
		return nil, nil //nolint:nilnil // no user is named, so none is looked up
	}
	users, err := at.API.Users(ctx, as)
	if err != nil {
		return nil, connect.Explain(err, v1alpha1.ConditionSynced, "list users")
	}
	out := make(map[string]int64, len(users))
	for _, u := range users {
		out[u.Username] = u.ID
	}
	return out, nil
}

func namesUsers(spec *v1alpha1.TerdutEscalationRuleSpec) bool {
	for _, l := range spec.Levels {
		for _, t := range l.Targets {
			if t.Kind == v1alpha1.TargetUser {
				return true
			}
		}
	}
	return false
}

// parse reads a policy as the server gives it.
func parse(from *terdutapi.EscalationPolicy) (policy, error) {
	out := policy{repeat: from.RepeatCount, fallback: from.FallbackTopic}
	for i, l := range from.Levels {
		timeout, err := time.ParseDuration(l.Timeout)
		if err != nil {
			return policy{}, outcome.Unknown(v1alpha1.ConditionSynced, v1alpha1.ReasonUnexpectedAnswer,
				"read the escalation policy: the timeout of level %d is not a duration", i)
		}
		next := level{timeout: timeout}
		for _, t := range l.Targets {
			var one target
			if t.UserID != nil {
				one.userID = *t.UserID
			}
			next.targets = append(next.targets, one)
		}
		out.levels = append(out.levels, next)
	}
	return out, nil
}

// request is the policy as the server takes it.
func (p policy) request() terdutapi.EscalationPolicy {
	out := terdutapi.EscalationPolicy{
		RepeatCount: p.repeat, FallbackTopic: p.fallback, Levels: []terdutapi.EscalationLevel{},
	}
	for _, l := range p.levels {
		next := terdutapi.EscalationLevel{Timeout: l.timeout.String(), Targets: []terdutapi.EscalationTarget{}}
		for _, t := range l.targets {
			one := terdutapi.EscalationTarget{Kind: terdutapi.TargetKind(v1alpha1.TargetOnCall)}
			if t.userID != 0 {
				id := t.userID
				one = terdutapi.EscalationTarget{Kind: terdutapi.TargetKind(v1alpha1.TargetUser), UserID: &id}
			}
			next.Targets = append(next.Targets, one)
		}
		out.Levels = append(out.Levels, next)
	}
	return out
}

// empty is a policy that nobody has written.
func (p policy) empty() bool { return len(p.levels) == 0 }

// differs names the fields that separate two policies.
func differs(want, got policy) remote.Difference {
	var d remote.Difference
	if want.repeat != got.repeat {
		d.Fields = append(d.Fields, "repeatCount")
	}
	if want.fallback != got.fallback {
		d.Fields = append(d.Fields, "fallbackTopic")
	}
	if len(want.levels) != len(got.levels) {
		d.Fields = append(d.Fields, "levels")
		return d
	}
	for i := range want.levels {
		if want.levels[i].timeout != got.levels[i].timeout {
			d.Fields = append(d.Fields, fmt.Sprintf("levels[%d].timeout", i))
		}
		if !equalTargets(want.levels[i].targets, got.levels[i].targets) {
			d.Fields = append(d.Fields, fmt.Sprintf("levels[%d].targets", i))
		}
	}
	return d
}
