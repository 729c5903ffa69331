package faults

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// adoptions are objects that are on the server already, and claims of two.
func adoptions() []Scenario {
	none := installed(everything, "OperatorOnly")
	conflict := "False " + v1alpha1.ReasonNameConflict
	never := apply(fmt.Sprintf(justTeam, "platform") + "\n  adoptionPolicy: Never")
	second := "TerdutTeam payments/second"
	return []Scenario{
		{Name: "adopt-everything", Before: before(none, together(strangersTeam("Payments"), strangersChildrenNamed("watchdog", "alerts"))), Steps: []Step{
			apply(here),
			together(ready(ourTeam, ourRule), says(ourSource, "Synced", "False "+v1alpha1.ReasonKeyUnknown), giveWebhook),
		}, Ends: ready(ourChain...)},
		{Name: "adopt-never", Before: before(none, strangersTeam("Payments")), Steps: []Step{
			never,
			together(says(ourTeam, "Synced", conflict), deleteTeams, annotate(ourTeam, v1alpha1.AnnotationReconcile, "1")),
		}, Ends: ready(ourTeam)},
		{Name: "adopt-with-leave", Before: before(none, strangersTeam("Payments")), Steps: []Step{
			apply(fmt.Sprintf(justTeam, "payments")),
			together(
				says(theirTeam, "Synced", conflict), says(theServer, "AdoptionRequested", "True "+v1alpha1.ReasonAdoptionRequested),
				merge(theServer, `{"spec":{"allowedTeams":{"adopt":[{"namespace":"payments","names":["Payments"]}]}}}`),
			),
			together(ready(theirTeam), merge(theServer, `{"spec":{"allowedTeams":{"adopt":null}}}`)),
			together(ready(theirTeam), says(theServer, "AdoptionRequested", "")),
		}},
		{Name: "two-claims", Before: before(none, apply(fmt.Sprintf(justTeam, "payments"))), Steps: []Step{
			apply(onServerOf("payments", "Payments", "second")),
			together(says(second, "Synced", conflict), remove(second)),
			together(absent(second), ready(theirTeam)),
		}},
		{Name: "two-claims-first-goes", Before: before(none, apply(fmt.Sprintf(justTeam, "payments")), apply(onServerOf("payments", "Payments", "second"))), Steps: []Step{
			remove(theirTeam),
		}, Ends: ready(second)},
		{Name: "two-claims-at-once", Before: none, Steps: []Step{
			together(apply(fmt.Sprintf(justTeam, "payments")), apply(onServerOf("payments", "Payments", "second"))),
			together(remove(theirTeam)),
		}, Ends: ready(second)},
		{Name: "forged-record", Before: before(none, apply(fmt.Sprintf(justTeam, "payments")), apply(onServerOf("payments", "Orders", "second"))), Steps: []Step{
			forge(theirTeam, second),
			together(
				says(theirTeam, "Synced", "False "+v1alpha1.ReasonDuplicateClaim), says(second, "Synced", "False "+v1alpha1.ReasonDuplicateClaim),
				remove(second),
			),
		}, Ends: ready(theirTeam), Orphans: true},
		{Name: "copied-record", Before: before(none, apply(fmt.Sprintf(justTeam, "payments")), apply(onServerOf("payments", "Orders", "second"))), Steps: []Step{
			copyRecord(theirTeam, second),
			together(ready(theirTeam), says(second, "Synced", conflict), remove(second)),
		}, Ends: ready(theirTeam), Orphans: true},
		{Name: "two-rules", Before: before(none, apply(here), apply(otherRule)), Steps: []Step{
			together(says("TerdutEscalationRule platform/second", "Ready", "False "+v1alpha1.ReasonWaitingForRule), remove(ourRule)),
		}, Ends: ready("TerdutEscalationRule platform/second")},
	}
}

// strangersTeam makes a team on the server that nobody here knows of.
func strangersTeam(name string) Step {
	return onServer(func(s *refserver.Server) error {
		_, err := s.Model().CreateTeam(name)
		return err
	})
}

// strangersChildren makes a switch and an integration on the first team.
var strangersChildren = strangersChildrenNamed("strange", "strange")

func strangersChildrenNamed(nameOfSwitch, integration string) Step {
	return onServer(func(s *refserver.Server) error {
		team, m := s.Teams()[0].ID, s.Model()
		if _, err := m.CreateSwitch(team, model.Switch{Name: nameOfSwitch, Matcher: "alertname=Strange", TimeoutText: "1h", Severity: "warning"}); err != nil {
			return fmt.Errorf("make a switch: %w", err)
		}
		if _, _, err := m.CreateIntegration(team, "alertmanager", integration, ""); err != nil {
			return fmt.Errorf("make an integration: %w", err)
		}
		if len(s.Escalation(team).Levels) > 0 {
			return nil
		}
		_, err := m.PutEscalation(team, model.Policy{Levels: []model.Level{{Timeout: time.Hour, TimeoutText: "1h", Targets: []model.Target{{}}}}})
		return err
	})
}

// giveWebhook puts the key of the stranger's integration into a Secret, and
// names that: the key was told when it was made.
func giveWebhook(r *Run) error {
	issued := r.peer("platform", "terdut").Issued()
	for _, key := range issued {
		if id := r.peer("platform", "terdut").IntegrationID(key); id == 0 {
			continue
		}
		encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
		url := "http://terdut.platform.svc:8080/api/webhooks/alertmanager/" + key
		return together(
			apply(fmt.Sprintf(savedWebhook, encode(key), encode(url))),
			merge(ourSource, `{"spec":{"existingKeySecretRef":{"name":"saved"}}}`),
		)(r)
	}
	return fmt.Errorf("there is no integration among %d keys", len(issued))
}

// forge gives an object the record of another one, as if it were its own.
func forge(from, to string) Step {
	return giveRecord(from, to, func(record map[string]any, to *unstructured.Unstructured) { record["ownerUID"] = string(to.GetUID()) })
}

// copyRecord gives an object the record of another one as it stands.
func copyRecord(from, to string) Step {
	return giveRecord(from, to, func(map[string]any, *unstructured.Unstructured) {})
}

func giveRecord(from, to string, change func(record map[string]any, to *unstructured.Unstructured)) Step {
	return func(r *Run) error {
		original, err := r.find(from)
		if err != nil {
			return err
		}
		other, err := r.find(to)
		if err != nil {
			return err
		}
		record, _, _ := unstructured.NestedMap(original.Object, "status", "remote")
		change(record, other)
		if err := unstructured.SetNestedMap(other.Object, record, "status", "remote"); err != nil {
			return fmt.Errorf("write the record of %s: %w", to, err)
		}
		return r.User.Status().Update(context.Background(), other)
	}
}

const (
	savedWebhook = `
apiVersion: v1
kind: Secret
metadata: {name: saved, namespace: platform}
data: {key: %s, url: %s}`

	otherRule = `
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutEscalationRule
metadata: {name: second, namespace: platform}
spec:
  teamRef: {name: payments}
  repeatCount: 7
  levels:
    - timeout: 9m
      targets: [{kind: oncall}]`
)
