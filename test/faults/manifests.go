package faults

import "fmt"

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

	// bare is a server with a database and nothing else, and what a scenario adds.
	bare = `
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutServer
metadata: {name: terdut, namespace: platform}
spec:
  credentials: {mode: OperatorOnly}
  database: {%s}
%s`

	// ownDSN names the database of the Secret above.
	ownDSN = `dsn: "postgres://terdut@db:5432/terdut", passwordSecretRef: {name: db, key: password}`

	// justTeam is a team without anything on it.
	justTeam = `
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutTeam
metadata: {name: payments, namespace: %s}
spec:
  displayName: Payments
  serverRef: {name: terdut, namespace: platform}`

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

	// justSource is one of the chain's children alone.
	justSource = `
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutAlertSource
metadata: {name: alerts, namespace: %s}
spec:
  teamRef: {name: payments}
  kind: alertmanager
  name: alerts`
)

var (
	here  = fmt.Sprintf(chainManifest, "platform")
	there = fmt.Sprintf(chainManifest, "payments")
)
