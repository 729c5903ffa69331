package faults

import (
	"fmt"
)

// installs are those of a server with each kind of database, and what belongs
// to it arriving in each order.
func installs() []Scenario {
	external := apply(fmt.Sprintf(elsewhere, adminKey))
	return []Scenario{
		{Name: "install", Steps: installed(everything, "Auto")},
		{Name: "install-today", Steps: installed(today, "Auto"), Allowed: lost},
		{Name: "install-cnpg", Before: []Step{serve(everything), together(apply(namespaces), apply(cnpg), apply(cnpgSecrets), healthy)},
			Steps: []Step{apply(fmt.Sprintf(bare, cnpgRef, ""))}, Ends: ready(theServer)},
		{Name: "install-zalando", Before: []Step{serve(everything), apply(namespaces)},
			Steps: []Step{
				together(apply(fmt.Sprintf(bare, zalandoRef, "")), apply(zalando)),
				together(says(theServer, "DatabaseReady", "False ClusterNotReady"), running),
				together(says(theServer, "DatabaseReady", "False SecretNotFound"), apply(zalandoSecret)),
			}, Ends: ready(theServer)},
		{Name: "install-external", Before: []Step{serve(everything), together(apply(namespaces), apply(somebodys)), bootstrapped},
			Steps: []Step{
				external,
				together(says(theServer, "Bootstrapped", "False SecretNotFound"), handOver),
				together(ready(theServer), remove(theServer)),
			}, Ends: absent(theServer), Orphans: true},
		{Name: "external-moves", Before: []Step{serve(everything), together(apply(namespaces), apply(somebodys)), bootstrapped, together(handOver, external), apply(fmt.Sprintf(justTeam, "platform"))},
			Steps: []Step{
				together(ready(theServer, ourTeam), merge("Secret platform/authority", `{"data":{"ca.crt":"`+otherAuthority+`"}}`)),
				spec(theServer, "https://terdut.platform.svc:8443/behind", "external", "url"),
				spec(theServer, "https://terdut.platform.svc:8443", "external", "url"),
			}, Ends: ready(theServer, ourTeam), Orphans: true},
		{Name: "arrives-last-first", Before: before(installed(everything, "OperatorOnly"), apply(fmt.Sprintf(justSource, "platform"))), Steps: []Step{
			apply(fmt.Sprintf(justTeam, "platform")),
		}, Ends: ready(theServer, ourTeam, ourSource)},
	}
}

// databases are what becomes of the database of a server that is installed.
func databases() []Scenario {
	install := []Step{serve(everything), together(apply(namespaces), apply(database), apply(fmt.Sprintf(bare, ownDSN, "")))}
	restarts := []Step{serve(everything), together(apply(namespaces), apply(database), apply(fmt.Sprintf(bare, ownDSN+", restartOnRotation: true", "")))}
	toCNPG := apply(fmt.Sprintf(bare, cnpgRef, ""))
	return []Scenario{
		{Name: "rotate-database", Before: installed(everything, "OperatorOnly"), Steps: []Step{apply(otherPassword)}},
		{Name: "rotate-database-restart", Before: restarts, Steps: []Step{apply(otherPassword)}, Ends: ready(theServer)},
		{Name: "database-secret-away", Before: restarts, Steps: []Step{
			remove("Secret platform/db"),
			together(says(theServer, "DatabaseReady", "False SecretNotFound"), apply(database)),
		}, Ends: ready(theServer)},
		{Name: "database-moves", Before: before(install, together(apply(cnpg), healthy)), Steps: []Step{
			toCNPG, apply(cnpgSecrets), together(ready(theServer), apply(fmt.Sprintf(bare, ownDSN, ""))),
		}, Ends: ready(theServer)},
		{Name: "database-cluster-away", Before: []Step{serve(everything), together(apply(namespaces), apply(cnpg), apply(cnpgSecrets), healthy), toCNPG}, Steps: []Step{
			remove("Cluster platform/oncall-db"),
			together(says(theServer, "DatabaseReady", "False ClusterNotFound"), apply(cnpg), healthy),
		}, Ends: ready(theServer)},
	}
}

var (
	healthy = status("Cluster platform/oncall-db", `{"status":{"readyInstances":1,"phase":"Cluster in healthy state"}}`)
	running = status("postgresql platform/acid-oncall", `{"status":{"PostgresClusterStatus":"Running"}}`)
)

const (
	cnpgRef = `cnpgClusterRef: {name: oncall-db}, sslMode: verify-full`
	cnpg    = `
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: oncall-db, namespace: platform}
spec:
  instances: 1
  storage: {size: 1Gi}
  bootstrap: {initdb: {database: terdut, owner: terdut}}`
	cnpgSecrets = `
apiVersion: v1
kind: Secret
metadata: {name: oncall-db-app, namespace: platform}
data: {password: Y25wZy1AL3BAc3MtY2FuYXJ5}
---
apiVersion: v1
kind: Secret
metadata: {name: oncall-db-ca, namespace: platform}
data: {ca.crt: bm8tYXV0aG9yaXR5LWF0LWFsbC1jYW5hcnk=}`

	zalandoRef = `postgresClusterRef: {name: acid-oncall}`
	zalando    = `
apiVersion: acid.zalan.do/v1
kind: postgresql
metadata: {name: acid-oncall, namespace: platform}
spec:
  teamId: acid
  numberOfInstances: 1
  volume: {size: 1Gi}
  postgresql: {version: "17"}
  users: {terdut_owner: []}
  databases: {terdut: terdut_owner}`
	zalandoSecret = `
apiVersion: v1
kind: Secret
metadata: {name: terdut-owner.acid-oncall.credentials.postgresql.acid.zalan.do, namespace: platform}
data: {password: emFsYW5kby1AL3BAc3MtY2FuYXJ5}`

	// somebodys is a terdut-server that somebody else has installed.
	somebodys = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: terdut, namespace: platform, labels: {app: somebodys}}
spec:
  replicas: 1
  selector: {matchLabels: {app: somebodys}}
  template:
    metadata: {labels: {app: somebodys}}
    spec: {containers: [{name: terdut, image: "example.com/terdut:1"}]}`
	elsewhere = `
apiVersion: v1
kind: Secret
metadata: {name: authority, namespace: platform}
data: {ca.crt: ` + authority + `}
---
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutServer
metadata: {name: terdut, namespace: platform}
spec:
  external:
    url: https://terdut.platform.svc:8443
    caSecretRef: {name: authority}
    adminKeySecretRef: {%s}`
	adminKey = `name: admin, key: key`
	// Two certificate authorities, in base64. Nothing is signed by them.
	authority      = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSDhNSUd2b0FNQ0FRSUNBUUV3QlFZREsyVndNQTB4Q3pBSkJnTlZCQU1UQW1OaE1DQVhEVGN3TURFd01UQXcKTURBd01Gb1lEekl4TWpZd01UQXhNREF3TURBd1dqQU5NUXN3Q1FZRFZRUURFd0pqWVRBcU1BVUdBeXRsY0FNaApBSWVvUnRzNHd5TUdVdU1zdWlQeTBrTXZFT3I3MlBDRzJOSlhkOFF5SVB1Zm96SXdNREFQQmdOVkhSTUJBZjhFCkJUQURBUUgvTUIwR0ExVWREZ1FXQkJSMW1VZkdSSmxHY1F0YVg1K1grUmVQbWthU1dUQUZCZ01yWlhBRFFRQ0UKUkNOcUY4cmJiWjZzNGRwQklmMFkrK2tSODlXWDFxd3BWb1E5OWlYaHFkZkRZWXJzK004YWNOeVp2NCtFU0s3Kwp2MURwV3BoSi8wdzNzYkV6S0dZTQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg=="
	otherAuthority = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSDhNSUd2b0FNQ0FRSUNBUUl3QlFZREsyVndNQTB4Q3pBSkJnTlZCQU1UQW1OaE1DQVhEVGN3TURFd01UQXcKTURBd01Gb1lEekl4TWpZd01UQXhNREF3TURBd1dqQU5NUXN3Q1FZRFZRUURFd0pqWVRBcU1BVUdBeXRsY0FNaApBQjlZbDk2NVpENDROeTd5bC9hZnNXNklPYTVwbkdJZDI4V1AySXNaTjltZ296SXdNREFQQmdOVkhSTUJBZjhFCkJUQURBUUgvTUIwR0ExVWREZ1FXQkJReHMrWE0wN0syVE9pWGZoS1hmb3FSSTBocFZUQUZCZ01yWlhBRFFRQUoKekJOaS9YME54NGZoMDlEYjVud29aZkNnZHc5TWhMdDBuM3RpRGNxVEVlOGx0dGdKWHBPTXNpeE5Vczd1aXAzKwpTRTNzZlZQeEtLK3B4M3J2SVA0TQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg=="
)
