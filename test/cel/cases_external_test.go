package cel_test

// externalGroups try the rules of a server that is installed elsewhere, save the
// one about pods.
func externalGroups() []group {
	outside := func(url string, more ...edit) []edit {
		edits := append(shapeless(), set("spec.external", fields{
			"url": url, "caSecretRef": fields{"name": "ca"}, "adminKeySecretRef": fields{"name": "admin"},
		}))
		return append(edits, more...)
	}
	const good = "https://terdut.example.com"
	urls := group{kind: server, path: "spec.external", says: "external.url must be https"}
	for _, url := range []string{
		good, good + ":8443/terdut", "https://10.0.0.1", "http://terdut.oncall.svc:8080", "http://terdut.oncall.svc.cluster.local/prefix",
	} {
		urls.pass = append(urls.pass, create(outside(url)...))
	}
	for _, url := range []string{
		"http://terdut.example.com", "http://10.0.0.1", "http://terdut.oncall", "http://localhost.svc", "ftp://terdut.oncall.svc",
		"https://user@terdut.example.com", good + "?query", good + "#fragment", "https://", "terdut.example.com",
	} {
		urls.fail = append(urls.fail, create(outside(url)...))
	}
	return []group{
		urls,
		{
			kind: server, path: "spec", says: "database is required",
			pass: []attempt{create(), create(outside(good)...)},
			fail: []attempt{create(unset("spec.database")), update(unset("spec.database"))},
		},
		{
			kind: server, path: "spec", says: "remove image, database and replicas",
			pass: []attempt{create(outside(good)...)},
			fail: []attempt{
				create(outside(good, set("spec.image", fields{"tag": "v0.9.3"}))...),
				create(outside(good, set("spec.database", fields{"dsn": "postgres://terdut@db:5432/terdut"}))...),
				create(outside(good, set("spec.replicas", 1))...),
			},
		},
		{
			kind: server, path: "spec", says: "never bootstrapped",
			pass: []attempt{create(outside(good)...)},
			fail: []attempt{create(outside(good, set("spec.bootstrap", fields{"adminKeySecretRef": fields{"name": "admin"}}))...)},
		},
	}
}

// shapeless takes off the base of a server what one that is installed elsewhere
// cannot have.
func shapeless() []edit {
	edits := append([]edit{unset("spec.networking.gatewayListener"), unset("spec.bootstrap")}, elsewhere...)
	for _, field := range []string{
		"resources", "imagePullSecrets", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName",
		"podLabels", "podAnnotations", "extraEnv", "extraVolumes", "extraVolumeMounts", "podSecurityContext",
		"containerSecurityContext", "takeOver",
	} {
		edits = append(edits, unset("spec."+field))
	}
	return edits
}
