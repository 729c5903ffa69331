package cel_test

import "strings"

const (
	saysLong      = "at most 200 characters"
	saysMark      = "marks unfinished objects"
	saysImmutable = "is immutable: delete this"
)

// remoteGroups try the rules of the kinds that live on a server.
func remoteGroups() []group {
	groups := []group{
		immutable(team, "serverRef",
			[]attempt{
				update(set("spec.displayName", "Other")),
				create(unset("spec.serverRef.namespace")).update(set("spec.displayName", "Other")),
			},
			[]attempt{
				update(set("spec.serverRef.name", "other")),
				update(set("spec.serverRef.namespace", "other")),
				update(unset("spec.serverRef.namespace")),
				update(set("spec.serverRef.namespace", "")),
				create(unset("spec.serverRef.namespace")).update(set("spec.serverRef.namespace", "platform-oncall")),
				create(unset("spec.serverRef.namespace")).update(set("spec.serverRef.namespace", namespace)),
				create(set("spec.serverRef.namespace", "")).update(set("spec.serverRef.namespace", "platform-oncall")),
			}),
		mark(team, "spec.displayName"),
		mark(deadman, "spec.name"),
		mark(alertSource, "spec.name"),
		{
			kind: alertSource, path: "", says: "which the operator writes",
			pass: []attempt{
				create(set("spec.existingKeySecretRef.name", "kept")),
				create(unset("spec.webhookSecretName"), set("spec.existingKeySecretRef.name", "kept")),
				create(set("spec.webhookSecretName", ""), set("spec.existingKeySecretRef.name", "kept")),
				create(unset("spec.existingKeySecretRef"), set("spec.webhookSecretName", "kept")),
				create(set("metadata.name", "mine"), set("spec.webhookSecretName", "other"), set("spec.existingKeySecretRef.name", "mine-terdut-webhook")),
			},
			fail: []attempt{
				create(set("spec.webhookSecretName", "kept"), set("spec.existingKeySecretRef.name", "kept")),
				create(set("metadata.name", "mine"), unset("spec.webhookSecretName"), set("spec.existingKeySecretRef.name", "mine-terdut-webhook")),
				create(set("metadata.name", "mine"), set("spec.webhookSecretName", ""), set("spec.existingKeySecretRef.name", "mine-terdut-webhook")),
				update(set("spec.webhookSecretName", "prod-alertmanager-key")),
			},
		},
		{
			kind: escalation, path: "spec.levels[]", says: "stands twice",
			pass: []attempt{
				create(targets(user("alice"), user("bob"), oncall())),
				create(targets(user("alice"), user("Alice"))),
				create(set("spec.levels", []any{level("5m", oncall()), level("5m", oncall())})),
				create(targets(users(20)...)),
			},
			fail: []attempt{
				create(targets(oncall(), oncall())),
				create(targets(user("alice"), oncall(), user("alice"))),
				create(set("spec.levels", []any{level("5m", oncall()), level("5m", user("a"), user("a"))})),
				update(targets(oncall(), oncall())),
			},
		},
		{
			kind: escalation, path: "spec.levels[].targets[]", says: "username is required",
			pass: []attempt{
				create(targets(user("alice"))),
				create(targets(oncall())),
				create(targets(fields{"kind": "oncall", "username": ""})),
			},
			fail: []attempt{
				create(targets(fields{"kind": "user"})),
				create(targets(user(""))),
				create(targets(fields{"kind": "oncall", "username": "alice"})),
				update(targets(fields{"kind": "oncall", "username": "alice"})),
			},
		},
	}
	for _, kind := range []string{escalation, deadman, alertSource} {
		groups = append(groups, immutable(kind, "teamRef",
			[]attempt{update(set("metadata.labels", fields{"stage": "prod"}))},
			[]attempt{
				update(set("spec.teamRef.name", "other")),
				update(set("spec.teamRef", fields{"name": "other"})),
			}))
	}
	for _, kind := range []string{team, escalation, deadman, alertSource} {
		groups = append(groups, group{
			kind: kind, path: "", says: saysLong,
			pass: []attempt{
				create(set("metadata.name", strings.Repeat("a", 200))),
				create(set("metadata.name", "1.2-"+strings.Repeat("b.", 90)+"c")),
			},
			fail: []attempt{
				create(set("metadata.name", strings.Repeat("a", 201))),
				create(set("metadata.name", strings.Repeat("a", 253))),
			},
		})
	}
	return groups
}

func immutable(kind, field string, pass, fail []attempt) group {
	return group{kind: kind, path: "spec", says: field + " " + saysImmutable, pass: pass, fail: fail}
}

// mark tries names that the operator's own marks could be confused with.
func mark(kind, path string) group {
	return group{
		kind: kind, path: path, says: saysMark,
		pass: []attempt{
			create(set(path, "terdut-0a")),
			create(set(path, "x-terdut")),
			create(set(path, "x-retired-0a9z")),
			create(set(path, "x-terdut-0a9 team")),
			create(set(path, "x-terdut-0A")),
			create(set(path, "Bereitschaft Süd/日本 🚨")),
		},
		fail: []attempt{
			create(set(path, "x-terdut-0a9f")),
			create(set(path, "x-retired-0a9f")),
			create(set(path, "x-terdut-")),
			create(set(path, "-retired-")),
			create(set(path, "x-terdut-1-terdut-2")),
			update(set(path, "x-retired-7")),
		},
	}
}

func user(name string) fields { return fields{"kind": "user", "username": name} }
func oncall() fields          { return fields{"kind": "oncall"} }

// users are as many different targets.
func users(count int) []fields {
	var all []fields
	for n := range count {
		all = append(all, user(strings.Repeat("u", n+1)))
	}
	return all
}

func level(timeout string, targets ...fields) fields {
	return fields{"timeout": timeout, "targets": targets}
}

// targets makes a policy of one level with them.
func targets(of ...fields) edit { return set("spec.levels", []any{level("5m", of...)}) }
