package faults

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// Scenarios are all scenarios of the campaign.
func Scenarios() []Scenario {
	// The answer to a bootstrap exists once: it must arrive, and be written.
	lost := []Allowance{{Reason: v1alpha1.ReasonBootstrapKeyLost, Why: keyOnce, At: []inject.Fault{
		{Label: "REST POST /api/bootstrap #1", Mode: inject.CrashAfter},
		{Label: "REST POST /api/bootstrap #1", Mode: inject.OldCache},
		{Label: "REST POST /api/bootstrap #1", Mode: inject.LostResponse},
		{Label: "REST POST /api/bootstrap #1", Mode: inject.Late},
		{Label: "K8S apply Secret platform/terdut-operator-credentials #2", Mode: inject.CrashBefore},
	}}}
	today := refserver.Options{Capabilities: &refserver.Capabilities{Me: true, ListKeys: true, CreatedAt: true}}
	none := installed(refserver.Options{}, "OperatorOnly")
	chain := append(installed(refserver.Options{}, "OperatorOnly"), apply(here))
	across := append(installed(refserver.Options{}, "OperatorOnly"), apply(there))
	return []Scenario{
		{Name: "install", Steps: installed(refserver.Options{}, "Auto")},
		{Name: "install-today", Steps: installed(today, "Auto"), Allowed: lost},
		{Name: "upgrade", Before: none, Steps: []Step{spec("TerdutServer platform/terdut", "v0.12.0", "image", "tag")}},
		{Name: "chain-same-namespace", Before: none, Steps: []Step{apply(here)}},
		{Name: "chain-cross-namespace", Before: none, Steps: []Step{apply(there)}},
		{Name: "chain-scoped", Before: installed(refserver.Options{}, "Scoped"), Steps: []Step{apply(there)}},
		{Name: "chain-mirrored", Before: installed(refserver.Options{}, "Mirrored"), Steps: []Step{apply(there)}},
		{Name: "rename", Before: across, Steps: []Step{together(
			spec("TerdutTeam payments/payments", "Payments EU", "displayName"),
			spec("TerdutDeadmanSwitch payments/watchdog", "watchdog-eu", "name"),
			spec("TerdutAlertSource payments/alerts", "alerts-eu", "name"),
		)}},
		{Name: "change-switch", Before: chain, Steps: []Step{spec("TerdutDeadmanSwitch platform/watchdog", "30m", "timeout")}},
		{Name: "move-webhook-secret", Before: chain, Steps: []Step{spec("TerdutAlertSource platform/alerts", "alerts-moved-webhook", "webhookSecretName")}},
		{Name: "rotate-source", Before: chain, Steps: []Step{annotate("TerdutAlertSource platform/alerts", v1alpha1.AnnotationRotate, "1")}},
		{Name: "rotate-server", Before: none, Steps: []Step{annotate("TerdutServer platform/terdut", v1alpha1.AnnotationRotate, "1")}},
		{Name: "rotate-database", Before: none, Steps: []Step{apply(otherPassword)}},
		{Name: "consent", Before: append(installed(refserver.Options{}, "Mirrored"), apply(there)), Steps: []Step{
			spec("TerdutServer platform/terdut", "None", "allowedTeams", "namespaces", "from"),
			spec("TerdutServer platform/terdut", "All", "allowedTeams", "namespaces", "from"),
		}},
		{Name: "lost-on-server", Before: chain, Steps: []Step{deleteTeams}},
		{Name: "delete-children-first", Before: across, Steps: []Step{
			remove("TerdutAlertSource payments/alerts", "TerdutDeadmanSwitch payments/watchdog", "TerdutEscalationRule payments/policy"),
			remove("TerdutTeam payments/payments"), remove("TerdutServer platform/terdut"),
		}},
		{Name: "delete-team-first", Before: chain, Steps: []Step{
			remove("TerdutTeam platform/payments"),
			remove("TerdutAlertSource platform/alerts", "TerdutDeadmanSwitch platform/watchdog", "TerdutEscalationRule platform/policy"),
		}},
		{Name: "delete-server-first", Before: across, Steps: []Step{
			remove("TerdutServer platform/terdut"),
			remove("TerdutTeam payments/payments", "TerdutAlertSource payments/alerts", "TerdutDeadmanSwitch payments/watchdog", "TerdutEscalationRule payments/policy"),
		}},
		{Name: "delete-all-at-once", Before: across, Steps: []Step{remove(
			"TerdutServer platform/terdut", "TerdutTeam payments/payments", "TerdutAlertSource payments/alerts",
			"TerdutDeadmanSwitch payments/watchdog", "TerdutEscalationRule payments/policy",
		)}},
		{Name: "delete-tenant-namespace", Before: across, Steps: []Step{remove("Namespace payments")}},
		{Name: "delete-server-namespace", Before: across, Steps: []Step{remove("Namespace platform")}},
		{Name: "orphan", Before: chain, Steps: []Step{
			together(
				spec("TerdutTeam platform/payments", "Orphan", "deletionPolicy"),
				spec("TerdutAlertSource platform/alerts", "Orphan", "deletionPolicy"),
				spec("TerdutDeadmanSwitch platform/watchdog", "Orphan", "deletionPolicy"),
				spec("TerdutEscalationRule platform/policy", "Orphan", "deletionPolicy"),
			),
			remove("TerdutAlertSource platform/alerts", "TerdutDeadmanSwitch platform/watchdog", "TerdutEscalationRule platform/policy", "TerdutTeam platform/payments"),
		}, Orphans: true},
	}
}

// keyOnce is why a bootstrap is not always survived.
const keyOnce = "the key of a server that takes no key which the caller chooses is in one answer, and that has not come to a Secret"

// installed makes a server with a mode of credentials, and waits until it is
// Ready.
func installed(o refserver.Options, mode string) []Step {
	return []Step{
		func(r *Run) error {
			_, err := r.Serve("platform", "terdut", o)
			return err
		},
		together(apply(namespaces), apply(database), apply(fmt.Sprintf(server, mode))),
	}
}

// spec sets one field of a spec.
func spec(text string, value any, path ...string) Step {
	return func(r *Run) error {
		object, err := r.find(text)
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(object.Object, value, append([]string{"spec"}, path...)...); err != nil {
			return fmt.Errorf("change %s: %w", text, err)
		}
		return r.User.Update(context.Background(), object)
	}
}

// deleteTeams deletes every team on the server, behind everybody's back.
func deleteTeams(r *Run) error {
	s := r.peers[types.NamespacedName{Namespace: "platform", Name: "terdut"}]
	for _, t := range s.Teams() {
		if err := s.Model().DeleteTeam(t.ID); err != nil {
			return fmt.Errorf("delete team %q: %w", t.Name, err)
		}
	}
	return nil
}

// Manifests that the scenarios share.
const (
	namespaces = `
apiVersion: v1
kind: Namespace
metadata: {name: platform}
---
apiVersion: v1
kind: Namespace
metadata: {name: payments, labels: {terdut.ryuvia.com/allowed: "true"}}`

	database = `
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: platform}
data: {password: cEBzcy93P3JkIzEtY2FuYXJ5}`

	otherPassword = `
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: platform}
data: {password: YW5vdGhlci1AL3BAc3MtY2FuYXJ5}`

	server = `
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutServer
metadata: {name: terdut, namespace: platform}
spec:
  database:
    dsn: postgres://terdut@db:5432/terdut
    passwordSecretRef: {name: db, key: password}
  credentials: {mode: %s}
  allowedTeams:
    namespaces:
      from: Selector
      selector: {matchLabels: {terdut.ryuvia.com/allowed: "true"}}`

	// chain is a team with everything that a team has, in a namespace.
	chainManifest = `
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutTeam
metadata: {name: payments, namespace: %[1]s}
spec:
  displayName: Payments
  serverRef: {name: terdut, namespace: platform}
  oidc: {memberGroup: payments, ownerGroup: leads}
---
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutEscalationRule
metadata: {name: policy, namespace: %[1]s}
spec:
  teamRef: {name: payments}
  repeatCount: 2
  levels:
    - timeout: 5m
      targets: [{kind: oncall}, {kind: user, username: terdut-operator}]
---
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutDeadmanSwitch
metadata: {name: watchdog, namespace: %[1]s}
spec:
  teamRef: {name: payments}
  name: watchdog
  matcher: alertname=Watchdog
  timeout: 15m
  severity: critical
---
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutAlertSource
metadata: {name: alerts, namespace: %[1]s}
spec:
  teamRef: {name: payments}
  kind: alertmanager
  name: alerts`
)

var (
	here  = fmt.Sprintf(chainManifest, "platform")
	there = fmt.Sprintf(chainManifest, "payments")
)
