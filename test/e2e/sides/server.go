package sides

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// server compares one server with what refers to it, and counts what it holds.
func (c Cluster) server(ctx context.Context, server *v1alpha1.TerdutServer, all resources) (int, error) {
	if err := c.children(ctx, server); err != nil {
		return 0, err
	}
	api, err := c.with(ctx, server, server.Namespace, v1alpha1.CredentialsSecretName(server.Name))
	if err != nil {
		return 0, err
	}
	there, err := api.ListTeams(ctx)
	if err != nil {
		return 0, fmt.Errorf("list its teams: %w", err)
	}
	users, err := usernames(ctx, api)
	if err != nil {
		return 0, err
	}
	var wanted []*v1alpha1.TerdutTeam
	for i := range all.teams {
		if team := &all.teams[i]; refersTo(team, server) {
			wanted = append(wanted, team)
		}
	}
	counted := 0
	failed := match("team", there, wanted,
		func(t *terdutapi.Team) (int64, string) { return t.ID, t.Name },
		func(t *v1alpha1.TerdutTeam) (int64, string) { return t.Status.TeamID, t.Spec.DisplayName })
	for _, team := range wanted {
		n, teamErr := c.team(ctx, server, api, team, all, users)
		counted += n
		if teamErr != nil {
			failed = errors.Join(failed, fmt.Errorf("TerdutTeam %s/%s: %w", team.Namespace, team.Name, teamErr))
		}
	}
	return counted + len(there), errors.Join(failed, keys(ctx, api, server))
}

func refersTo(team *v1alpha1.TerdutTeam, server *v1alpha1.TerdutServer) bool {
	namespace := team.Spec.ServerRef.Namespace
	if namespace == "" {
		namespace = team.Namespace
	}
	return team.Spec.ServerRef.Name == server.Name && namespace == server.Namespace
}

func usernames(ctx context.Context, api *terdutapi.Client) (map[int64]string, error) {
	list, err := api.ListUsers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list its users: %w", err)
	}
	names := map[int64]string{}
	for _, user := range list {
		names[user.ID] = user.Username
	}
	return names, nil
}

// children complains unless the server's Deployment and Service are the server's own and the Deployment is complete.
func (c Cluster) children(ctx context.Context, server *v1alpha1.TerdutServer) error {
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	for _, child := range []client.Object{deployment, service} {
		if err := c.Kube.Get(ctx, client.ObjectKeyFromObject(server), child); err != nil {
			return fmt.Errorf("read its child: %w", err)
		}
		if !metav1.IsControlledBy(child, server) {
			return fmt.Errorf("%T %s is not its own", child, child.GetName())
		}
	}
	want := int32(1)
	if server.Spec.Replicas != nil {
		want = *server.Spec.Replicas
	}
	if s := deployment.Status; s.ReadyReplicas != want || s.UpdatedReplicas != want || s.Replicas != want {
		return fmt.Errorf("its Deployment has %d pods, %d of them up to date and %d ready, want %d",
			s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, want)
	}
	return nil
}

// team compares what belongs to one team.
func (c Cluster) team(ctx context.Context, server *v1alpha1.TerdutServer, api *terdutapi.Client, team *v1alpha1.TerdutTeam,
	all resources, users map[int64]string,
) (int, error) {
	id := team.Status.TeamID
	policy, err := api.GetEscalation(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("read its policy: %w", err)
	}
	switches, err := api.ListDeadmanSwitches(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("list its switches: %w", err)
	}
	integrations, err := api.ListIntegrations(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("list its integrations: %w", err)
	}
	counted := len(switches) + len(integrations)
	if len(policy.Levels) > 0 {
		counted++
	}
	failed := errors.Join(
		comparePolicy(policy, of(team, all.rules, func(r *v1alpha1.TerdutEscalationRule) string { return r.Spec.TeamRef.Name }), users),
		match("switch", switches, of(team, all.switches, func(s *v1alpha1.TerdutDeadmanSwitch) string { return s.Spec.TeamRef.Name }),
			func(s *terdutapi.DeadmanSwitch) (int64, string) {
				return s.ID, spell(s.Name, s.Matcher, length(s.Timeout), s.Severity)
			},
			func(s *v1alpha1.TerdutDeadmanSwitch) (int64, string) {
				return s.Status.SwitchID, spell(s.Spec.Name, s.Spec.Matcher, length(string(s.Spec.Timeout)), s.Spec.Severity)
			}),
		match("integration", integrations, of(team, all.sources, func(s *v1alpha1.TerdutAlertSource) string { return s.Spec.TeamRef.Name }),
			func(i *terdutapi.Integration) (int64, string) { return i.ID, spell(i.Name, i.Kind) },
			func(s *v1alpha1.TerdutAlertSource) (int64, string) {
				return s.Status.IntegrationID, spell(s.Spec.Name, string(s.Spec.Kind))
			}),
	)
	return counted, errors.Join(failed, c.webhooks(ctx, team, all), c.teamKey(ctx, server, team))
}

// of are the resources that refer to a team. They live in its namespace.
func of[T any, P interface {
	*T
	client.Object
}](team *v1alpha1.TerdutTeam, all []T, ref func(P) string) []P {
	var out []P
	for i := range all {
		if one := P(&all[i]); one.GetNamespace() == team.Namespace && ref(one) == team.Name {
			out = append(out, one)
		}
	}
	return out
}

// match complains about everything that is on one side only or differs. Both sides spell an element as its ID and a text.
func match[S any, K client.Object](what string, server []S, cluster []K, spellServer func(*S) (int64, string),
	spellCluster func(K) (int64, string),
) error {
	there := map[int64]string{}
	for i := range server {
		id, text := spellServer(&server[i])
		there[id] = text
	}
	var failed error
	for _, one := range cluster {
		id, want := spellCluster(one)
		got, ok := there[id]
		delete(there, id)
		switch {
		case !ok:
			failed = errors.Join(failed, fmt.Errorf("%s %s has the ID %d, which the server does not have", what, one.GetName(), id))
		case got != want:
			failed = errors.Join(failed, fmt.Errorf("%s %d is %q on the server, want %q", what, id, got, want))
		}
	}
	for id, text := range there {
		failed = errors.Join(failed, fmt.Errorf("the server has %s %d, %q, which no resource holds", what, id, text))
	}
	return failed
}

func comparePolicy(policy *terdutapi.EscalationPolicy, rules []*v1alpha1.TerdutEscalationRule, users map[int64]string) error {
	var got, want strings.Builder
	for _, level := range policy.Levels {
		fmt.Fprintf(&got, "%s:", length(level.Timeout))
		for _, target := range level.Targets {
			name := ""
			if target.UserID != nil {
				name = users[*target.UserID]
			}
			fmt.Fprintf(&got, " %s %s;", target.Kind, name)
		}
	}
	repeat := policy.RepeatCount
	if len(rules) == 0 {
		repeat = 0 // what a cleared policy says besides its levels is the server's business
	}
	for _, rule := range rules {
		for _, level := range rule.Spec.Levels {
			fmt.Fprintf(&want, "%s:", length(string(level.Timeout)))
			for _, target := range level.Targets {
				fmt.Fprintf(&want, " %s %s;", target.Kind, target.Username)
			}
		}
		if int64(repeat) != int64(rule.Spec.RepeatCount) {
			return fmt.Errorf("the policy is repeated %d times on the server, want %d", repeat, rule.Spec.RepeatCount)
		}
	}
	if got.String() != want.String() {
		return fmt.Errorf("the policy is %q on the server, want %q", got.String(), want.String())
	}
	return nil
}

// length makes 15m and 15m0s the same.
func length(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		return "no duration: " + text
	}
	return d.String()
}

func spell(words ...string) string { return strings.Join(words, " | ") }
