package story

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// compareSides shows both sides and proves that they agree.
func compareSides(ctx context.Context, w *world) error {
	all, err := w.objects(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(all))
	for _, o := range all {
		c := o.ready()
		rows = append(rows, []string{o.kind, o.obj.GetNamespace() + "/" + o.obj.GetName(), string(c.Status), c.Reason, o.shownID()})
	}
	if err = w.Table("Kubernetes", []string{"Kind", "Object", "Ready", "Reason", "Server ID"}, rows); err != nil {
		return err
	}
	view, err := look(ctx, w.api)
	if err != nil {
		return err
	}
	w.Blank()
	if err = w.Table("the server, through its API", []string{"What", "ID", "Name", "Contents"}, view.rows(w)); err != nil {
		return err
	}
	if err = view.agrees(w, all); err != nil {
		return err
	}
	w.teamID = view.team.ID
	w.Line("ok both sides agree: the same objects, IDs, names and settings")
	return nil
}

// view is what the server has of the sample.
type view struct {
	team        terdutapi.Team
	policy      terdutapi.EscalationPolicy
	deadman     terdutapi.DeadmanSwitch
	integration terdutapi.Integration
}

// look reads it.
func look(ctx context.Context, api *terdutapi.Client) (v view, err error) {
	teams, err := api.ListTeams(ctx)
	if v.team, err = only("team", teams, err); err != nil {
		return view{}, err
	}
	policy, err := api.GetEscalation(ctx, v.team.ID)
	if err != nil {
		return view{}, fmt.Errorf("read the escalation policy: %w", err)
	}
	v.policy = *policy
	switches, err := api.ListDeadmanSwitches(ctx, v.team.ID)
	if v.deadman, err = only("dead man's switch", switches, err); err != nil {
		return view{}, err
	}
	integrations, err := api.ListIntegrations(ctx, v.team.ID)
	v.integration, err = only("integration", integrations, err)
	return v, err
}

// only is the one element of a list: the sample has one of each.
func only[T any](what string, list []T, err error) (one T, _ error) {
	switch {
	case err != nil:
		return one, fmt.Errorf("read each %s on the server: %w", what, err)
	case len(list) != 1:
		return one, fmt.Errorf("the server has %d objects of the kind %s, want 1", len(list), what)
	}
	return list[0], nil
}

func (v view) rows(w *world) [][]string {
	levels := make([]string, 0, len(v.policy.Levels))
	for _, level := range v.policy.Levels {
		targets := make([]string, 0, len(level.Targets))
		for _, target := range level.Targets {
			switch {
			case target.UserID == nil:
				targets = append(targets, string(target.Kind))
			case *target.UserID == w.aliceID:
				targets = append(targets, username)
			default:
				targets = append(targets, fmt.Sprintf("user %d", *target.UserID))
			}
		}
		levels = append(levels, strings.Join(targets, "+")+" for "+level.Timeout)
	}
	return [][]string{
		{"team", fmt.Sprint(v.team.ID), v.team.Name, ""},
		{"escalation policy", fmt.Sprint(v.team.ID), "of team " + v.team.Name,
			fmt.Sprintf("%s; repeated %d times", strings.Join(levels, ", then "), v.policy.RepeatCount)},
		{"dead man's switch", fmt.Sprint(v.deadman.ID), v.deadman.Name,
			fmt.Sprintf("%s, %s, %s", v.deadman.Matcher, v.deadman.Timeout, v.deadman.Severity)},
		{"integration", fmt.Sprint(v.integration.ID), v.integration.Name, v.integration.Kind},
	}
}

// agrees compares the server's view with the specs and the recorded IDs.
func (v view) agrees(w *world, all []object) error {
	var wrong []error
	same := func(what string, server, cluster any) {
		if server != cluster {
			wrong = append(wrong, fmt.Errorf("%s: %v on the server, %v in Kubernetes", what, server, cluster))
		}
	}
	for _, o := range all {
		switch obj := o.obj.(type) {
		case *v1alpha1.TerdutTeam:
			same("team ID", v.team.ID, obj.Status.TeamID)
			same("team name", v.team.Name, obj.Spec.DisplayName)
		case *v1alpha1.TerdutEscalationRule:
			same("policy", v.spelled(w), spelled(obj))
		case *v1alpha1.TerdutDeadmanSwitch:
			same("switch ID", v.deadman.ID, obj.Status.SwitchID)
			same("switch name", v.deadman.Name, obj.Spec.Name)
			same("switch matcher", v.deadman.Matcher, obj.Spec.Matcher)
			same("switch timeout", length(v.deadman.Timeout), length(string(obj.Spec.Timeout)))
			same("switch severity", v.deadman.Severity, obj.Spec.Severity)
		case *v1alpha1.TerdutAlertSource:
			same("integration ID", v.integration.ID, obj.Status.IntegrationID)
			same("integration name", v.integration.Name, obj.Spec.Name)
			same("integration kind", v.integration.Kind, string(obj.Spec.Kind))
		}
	}
	return errors.Join(wrong...)
}

// spelled is a policy in one line, users by name.
func (v view) spelled(w *world) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", v.policy.RepeatCount)
	for _, level := range v.policy.Levels {
		fmt.Fprintf(&b, " %s", length(level.Timeout))
		for _, target := range level.Targets {
			name := ""
			if target.UserID != nil && *target.UserID == w.aliceID {
				name = username
			}
			fmt.Fprintf(&b, " %s=%s", target.Kind, name)
		}
	}
	return b.String()
}

func spelled(rule *v1alpha1.TerdutEscalationRule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", rule.Spec.RepeatCount)
	for _, level := range rule.Spec.Levels {
		fmt.Fprintf(&b, " %s", length(string(level.Timeout)))
		for _, target := range level.Targets {
			fmt.Fprintf(&b, " %s=%s", target.Kind, target.Username)
		}
	}
	return b.String()
}

// length compares 15m and 15m0s as what they are; -1 is no duration.
func length(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return -1
	}
	return d
}
