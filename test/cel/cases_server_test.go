package cel_test

import "strings"

var selector = fields{"matchLabels": fields{"terdut.ryuvia.com/allowed": "true"}}

// serverGroups try the rules of a TerdutServer, save those of the DSN.
func serverGroups() []group {
	groups := []group{
		{
			kind: server, path: "", says: "name of a Service",
			pass: []attempt{
				create(set("metadata.name", strings.Repeat("a", 50))),
				create(set("metadata.name", "t")),
				create(set("metadata.name", "t-1--0")),
			},
			fail: []attempt{
				create(set("metadata.name", strings.Repeat("a", 51))),
				create(set("metadata.name", "1terdut")),
				create(set("metadata.name", "terdut.prod")),
			},
		},
		{
			kind: server, path: "spec.allowedTeams.namespaces", says: "selector is required",
			pass: []attempt{
				create(unset("spec.allowedTeams")),
				create(set("spec.allowedTeams.namespaces", fields{})),
				create(set("spec.allowedTeams.namespaces", fields{"from": "None"})),
				create(set("spec.allowedTeams.namespaces", fields{"from": "Same"})),
				create(set("spec.allowedTeams.namespaces", fields{"from": "All"})),
				create(set("spec.allowedTeams.namespaces", fields{"from": "Selector", "selector": selector})),
				create(set("spec.allowedTeams.namespaces", fields{"from": "Selector", "selector": fields{}})),
			},
			fail: []attempt{
				create(set("spec.allowedTeams.namespaces", fields{"selector": selector})),
				create(set("spec.allowedTeams.namespaces", fields{"from": "None", "selector": selector})),
				create(set("spec.allowedTeams.namespaces", fields{"from": "Same", "selector": selector})),
				create(set("spec.allowedTeams.namespaces", fields{"from": "All", "selector": fields{}})),
				create(set("spec.allowedTeams.namespaces", fields{"from": "Selector"})),
				update(unset("spec.allowedTeams.namespaces.selector")),
				update(unset("spec.allowedTeams.namespaces.from")),
			},
		},
		{
			kind: server, path: "spec.oidc", says: "oidc.enabled needs",
			pass: []attempt{
				create(),
				create(unset("spec.oidc")),
				create(set("spec.oidc", fields{})),
				create(set("spec.oidc", fields{"enabled": false, "issuer": "", "clientID": "", "clientSecretRef": fields{"name": "", "key": "client-secret"}})),
			},
			fail: []attempt{
				create(set("spec.oidc", fields{"enabled": true})),
				create(unset("spec.oidc.issuer")),
				create(set("spec.oidc.issuer", "")),
				create(unset("spec.oidc.clientID")),
				create(set("spec.oidc.clientID", "")),
				create(unset("spec.oidc.clientSecretRef")),
				create(set("spec.oidc.clientSecretRef", fields{"key": "client-secret"})),
				create(set("spec.oidc.clientSecretRef.name", "")),
				update(unset("spec.oidc.issuer")),
			},
		},
	}
	groups = append(groups, group{
		kind: server, path: "spec.notify", says: "may not carry a user or password",
		pass: []attempt{
			create(),
			create(set("spec.notify.ntfyURL", "https://ntfy.example.com/@team?mail=a@b")),
			create(unset("spec.notify.ntfyURL")),
		},
		fail: []attempt{
			create(set("spec.notify.ntfyURL", "https://alice:s3cret@ntfy.example.com")),
			create(set("spec.notify.ntfyURL", "https://tk_s3cret@ntfy.example.com/")),
			update(set("spec.notify.ntfyURL", "https://:s3cret@ntfy.example.com")),
		},
		secrets: []string{"s3cret"},
	})
	for _, url := range []struct{ path, says string }{
		{"spec.notify.ntfyURL", "ntfyURL must be"},
		{"spec.oidc.issuer", "issuer must be"},
	} {
		path := url.path
		groups = append(groups, group{
			kind: server, path: path, says: url.says,
			pass: []attempt{
				create(set(path, "https://example.com")),
				create(set(path, "http://ntfy.ntfy.svc.cluster.local:8080/base")),
				create(set("spec.oidc.enabled", false), set(path, "")),
			},
			fail: []attempt{
				create(set(path, "ftp://example.com")),
				create(set(path, "example.com")),
				create(set(path, "https:example.com")),
				create(set(path, "javascript:alert(1)")),
				create(set(path, "https://example.com/\n")),
				update(set(path, "file:///etc/passwd")),
			},
		})
	}
	return groups
}
