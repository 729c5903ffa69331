package faults

import (
	"fmt"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// names are objects that get another name, another place or another identity.
func names() []Scenario {
	across := before(installed(everything, "OperatorOnly"), apply(there))
	chain := before(installed(everything, "OperatorOnly"), apply(here))
	two := before(installed(everything, "Scoped"), together(apply(fmt.Sprintf(justTeam, "payments")), apply(onServerOf("payments", "Orders", "orders"))))
	conflict := "False " + v1alpha1.ReasonNameConflict
	elsewhere := apply(fmt.Sprintf(justTeam, "platform"))
	return []Scenario{
		{Name: "rename", Before: across, Steps: []Step{together(
			spec(theirTeam, "Payments EU", "displayName"),
			spec(theirSwitch, "watchdog-eu", "name"),
			spec(theirSource, "alerts-eu", "name"),
		)}},
		{Name: "rename-to-a-taken-name", Before: before(across, together(strangersTeam("Orders"), strangersChildren)), Steps: []Step{
			together(
				spec(theirTeam, "Orders", "displayName"), spec(theirSwitch, "strange", "name"), spec(theirSource, "strange", "name"),
			),
			together(
				says(theirTeam, "Synced", conflict), says(theirSwitch, "Synced", conflict),
				spec(theirTeam, "Payments", "displayName"), spec(theirSwitch, "watchdog", "name"), spec(theirSource, "alerts", "name"),
			),
		}, Ends: ready(theirChain...), Orphans: true},
		{Name: "names-swapped", Before: two, Steps: []Step{
			together(spec(theirTeam, "Orders", "displayName"), spec("TerdutTeam payments/orders", "Payments", "displayName")),
			together(spec(theirTeam, "Third", "displayName")),
			ready("TerdutTeam payments/orders"),
			spec(theirTeam, "Orders", "displayName"),
		}, Ends: ready(theirTeam, "TerdutTeam payments/orders")},
		{Name: "recreated-elsewhere", Before: two, Steps: []Step{
			elsewhere, together(says(ourTeam, "Synced", conflict), remove(theirTeam)),
		}, Ends: ready(ourTeam)},
		{Name: "recreated-elsewhere-at-once", Before: two, Steps: []Step{together(remove(theirTeam), elsewhere)}, Ends: ready(ourTeam)},
		{Name: "recreated", Before: chain, Steps: []Step{
			remove(ourTeam, ourSwitch), apply(here),
		}, Ends: ready(ourChain...)},
		{Name: "recreated-at-once", Before: chain, Steps: []Step{
			together(annotateForce(ourTeam, ourSource), remove(ourTeam, ourSource), strip(ourTeam), strip(ourSource), apply(here)),
		}, Ends: ready(ourTeam), Orphans: true},
		{Name: "moved-to-another-team", Before: before(chain, apply(onServerOf("platform", "Orders", "orders"))), Steps: []Step{
			remove(ourSwitch, ourSource), together(apply(forOrders)),
		}, Ends: ready(ourSwitch, ourSource)},
		{Name: "user-made-again", Before: before(installed(everything, "OperatorOnly"), together(addUser("alice"), apply(here), apply(paged))), Steps: []Step{
			together(ready(ourRule), onServer(dropUser("alice"))),
			together(says(ourRule, "Ready", "False "+v1alpha1.ReasonUserNotFound), addUser("alice")),
		}, Ends: ready(ourRule)},
	}
}

// annotateForce asks for objects to be let go without a call.
func annotateForce(objects ...string) Step {
	return onEach(objects, func(text string) Step { return annotate(text, v1alpha1.AnnotationForceOrphan, "true") })
}

func addUser(name string) Step {
	return onServer(func(s *refserver.Server) error {
		_, err := s.Model().CreateUser(name, name+"@example.com", false)
		return err
	})
}

func dropUser(name string) func(*refserver.Server) error {
	return func(s *refserver.Server) error {
		for _, u := range s.Users() {
			if u.Username == name {
				return s.Model().DeleteUser(u.ID)
			}
		}
		return fmt.Errorf("there is no user %s", name)
	}
}

const (
	forOrders = `
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutDeadmanSwitch
metadata: {name: watchdog, namespace: platform}
spec:
  teamRef: {name: orders}
  name: watchdog
  matcher: alertname=Watchdog
  timeout: 15m
  severity: critical
---
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutAlertSource
metadata: {name: alerts, namespace: platform}
spec:
  teamRef: {name: orders}
  kind: alertmanager
  name: alerts`

	// paged is the rule of the chain, with a user who may go.
	paged = `
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutEscalationRule
metadata: {name: policy, namespace: platform}
spec:
  teamRef: {name: payments}
  repeatCount: 2
  levels:
    - timeout: 5m
      targets: [{kind: user, username: alice}]`
)
