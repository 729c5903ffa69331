package faults

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// edits are changes of specs, and of what stands on the server.
func edits() []Scenario {
	none := installed(everything, "OperatorOnly")
	chain := before(none, apply(here))
	all := append([]string{theServer}, ourChain...)
	rule := merge(ourRule, `{"spec":{"repeatCount":0,"levels":[{"timeout":"9m","targets":[{"kind":"oncall"}]},{"timeout":"1h","targets":[{"kind":"oncall"}]}]}}`)
	edits := together(
		merge(ourTeam, `{"spec":{"displayName":"Payments EU","oidc":{"memberGroup":"eu","ownerGroup":null}}}`), rule,
		merge(ourSwitch, `{"spec":{"name":"watchdog-eu","matcher":"alertname=Other","timeout":"45m","severity":"warning"}}`),
		merge(ourSource, `{"spec":{"name":"alerts-eu","webhookSecretName":"elsewhere"}}`), annotate(ourSource, v1alpha1.AnnotationRotate, "1"),
	)
	few := together(spec(ourTeam, "Payments EU", "displayName"), rule, spec(ourSource, "alerts-eu", "name"))
	mark := func(key, value string) func(string) Step {
		return func(text string) Step { return annotate(text, key, value) }
	}
	return []Scenario{
		{Name: "upgrade", Before: none, Steps: []Step{spec(theServer, "v0.12.0", "image", "tag")}},
		{Name: "change-switch", Before: chain, Steps: []Step{spec(ourSwitch, "30m", "timeout")}},
		{Name: "move-webhook-secret", Before: chain, Steps: []Step{spec(ourSource, "alerts-moved-webhook", "webhookSecretName")}},
		{Name: "change-everything", Before: chain, Steps: []Step{edits}, Ends: ready(ourChain...)},
		{Name: "change-and-back", Before: chain, Steps: []Step{soon(few, apply(here))}, Ends: ready(ourChain...)},
		{Name: "change-while-paused", Before: before(chain, onEach(all, mark(v1alpha1.AnnotationPaused, "true"))), Steps: []Step{
			together(few, spec(theServer, "v0.12.0", "image", "tag")),
			together(says(ourTeam, "Paused", "True "+v1alpha1.ReasonPaused), onEach(all, mark(v1alpha1.AnnotationPaused, "false"))),
		}, Ends: ready(ourChain...)},
		{Name: "look-again", Before: chain, Steps: []Step{
			together(changedOnServer, onEach(ourChain, mark(v1alpha1.AnnotationReconcile, "1"))),
		}, Ends: ready(ourChain...)},
		{Name: "changed-on-server", Before: chain, Steps: []Step{changedOnServer}, Ends: ready(ourChain...)},
		{Name: "children-lost-on-server", Before: chain, Steps: []Step{onServer(func(s *refserver.Server) error {
			team := s.Teams()[0].ID
			if err := s.Model().DeleteSwitch(team, s.Switches(team)[0].ID); err != nil {
				return fmt.Errorf("delete the switch: %w", err)
			}
			return deleteIntegrationsOf(s, team)
		})}, Ends: ready(ourChain...)},
		{Name: "asleep", Before: before(none, apply(fmt.Sprintf(justTeam, "platform"))), Steps: []Step{
			together(asleep, spec(ourTeam, "Payments EU", "displayName")), awake,
		}, Ends: ready(ourTeam)},
	}
}

// changedOnServer changes all that can be changed, past the operator.
var changedOnServer = onServer(func(s *refserver.Server) error {
	team, m := s.Teams()[0].ID, s.Model()
	if _, err := m.RenameTeam(team, "Somebody else's"); err != nil {
		return fmt.Errorf("rename the team: %w", err)
	}
	if _, err := m.SetGroups(team, "x", "y"); err != nil {
		return fmt.Errorf("set groups: %w", err)
	}
	if _, err := m.RenameIntegration(team, s.Integrations(team)[0].ID, "strange"); err != nil {
		return fmt.Errorf("rename the integration: %w", err)
	}
	_, err := m.PutEscalation(team, model.Policy{Levels: []model.Level{{Timeout: time.Hour, TimeoutText: "1h", Targets: []model.Target{{}}}}})
	return err
})

// deleteTeams deletes every team on the server, behind everybody's back.
func deleteTeams(r *Run) error {
	s := r.peers[types.NamespacedName{Namespace: "platform", Name: "terdut"}]
	for _, t := range s.Teams() {
		if err := s.Model().DeleteTeam(t.ID); err != nil {
			return fmt.Errorf("delete team %q: %w", t.Name, err)
		}
	}
	return s.Model().Refresh(context.Background())
}
