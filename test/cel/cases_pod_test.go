package cel_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var (
	noEnv     = set("spec.extraEnv", []any{})
	aMount    = fields{"name": "certificates", "mountPath": "/certificates"}
	aVolume   = fields{"name": "certificates", "secret": fields{"secretName": "certificates"}}
	elsewhere = []edit{unset("spec.image"), unset("spec.database"), unset("spec.replicas")}
)

// podGroups try the rules about the pod of a server and about its route.
func podGroups() []group {
	groups := []group{
		{
			kind: server, path: "spec.networking", says: "needs hostname",
			pass: []attempt{
				create(),
				create(unset("spec.networking")),
				create(unset("spec.networking.gatewayListener"), unset("spec.networking.hostname")),
				create(set("spec.networking.gatewayListener", ""), unset("spec.networking.hostname")),
			},
			fail: []attempt{
				create(unset("spec.networking.hostname")),
				create(set("spec.networking.hostname", "")),
				update(unset("spec.networking.hostname")),
			},
		},
		{
			kind: server, path: "spec.networking.gatewayListener", says: "gatewayListener reads",
			pass: []attempt{
				create(set("spec.networking.gatewayListener", "")),
				create(set("spec.networking.gatewayListener", "gateways/public")),
				create(set("spec.networking.gatewayListener", "g/public.example/https-443")),
			},
			fail: []attempt{
				create(set("spec.networking.gatewayListener", "public")),
				create(set("spec.networking.gatewayListener", "/public")),
				create(set("spec.networking.gatewayListener", "gateways/")),
				create(set("spec.networking.gatewayListener", "gateways/public/")),
				create(set("spec.networking.gatewayListener", "gateways/public/https/443")),
				create(set("spec.networking.gatewayListener", "Gateways/public")),
				create(set("spec.networking.gatewayListener", "gate.ways/public")),
				update(set("spec.networking.gatewayListener", "gateways/public\n")),
			},
		},
		keys("spec.podLabels", "are the operator's", "app.kubernetes.io/name", "app.kubernetes.io/instance",
			"app.kubernetes.io/managed-by", "terdut.ryuvia.com/anything"),
		keys("spec.podAnnotations", "is the operator's", "terdut.ryuvia.com/anything"),
		envGroup("set value or valueFrom, not both", []fields{
			{"name": "A", "value": "b"},
			{"name": "A"},
			{"name": "A", "value": "", "valueFrom": fieldRef},
			{"name": "A", "valueFrom": fields{"secretKeyRef": fields{"name": "s", "key": "k"}}},
		}, []fields{
			{"name": "A", "value": "b", "valueFrom": fieldRef},
		}),
		envGroup("set exactly one of fieldRef", []fields{
			{"name": "A", "valueFrom": fieldRef},
			{"name": "A", "valueFrom": fields{"configMapKeyRef": fields{"name": "c", "key": "k"}}},
			{"name": "A", "valueFrom": fields{"resourceFieldRef": fields{"resource": "limits.memory"}}},
			{"name": "A", "valueFrom": fields{"fileKeyRef": fields{"volumeName": "v", "path": "p", "key": "K"}}},
		}, []fields{
			{"name": "A", "valueFrom": fields{}},
			{"name": "A", "valueFrom": fields{"fieldRef": fields{"fieldPath": "metadata.name"}, "secretKeyRef": fields{"name": "s", "key": "k"}}},
		}),
		envGroup("redirect the database", []fields{
			{"name": "pgpassword", "value": "x"}, {"name": "MYPGHOST", "value": "x"},
		}, []fields{
			{"name": "PGHOST", "value": "x"}, {"name": "PGPASSWORD", "valueFrom": fieldRef}, {"name": "PG", "value": "x"},
		}),
		envGroup("sets this variable from a field", []fields{
			{"name": "TERDUT_NEW_SETTING", "value": "x"}, {"name": "terdut_base_url", "value": "x"},
		}, []fields{
			{"name": "TERDUT_DATABASE_URL", "value": "x"}, {"name": "TERDUT_PASSWORD_LOGIN", "value": "true"},
		}),
	}
	return append(append(groups, volumeGroups()...), externalPodGroup())
}

func volumeGroups() []group {
	volume := func(of fields) edit { return set("spec.extraVolumes", []any{aVolume, of}) }
	mount := func(path string) edit {
		return set("spec.extraVolumeMounts", []any{fields{"name": "certificates", "mountPath": path}})
	}
	return []group{
		{
			kind: server, path: "spec.extraVolumes[]", says: "set exactly one of",
			pass: []attempt{
				create(),
				create(volume(fields{"name": "b", "emptyDir": fields{}})),
				create(volume(fields{"name": "b", "csi": fields{"driver": "secrets-store.csi.k8s.io"}})),
				create(volume(fields{"name": "b", "configMap": fields{"name": "c"}})),
				create(volume(fields{"name": "b", "persistentVolumeClaim": fields{"claimName": "c"}})),
				create(volume(fields{"name": "b", "projected": fields{"sources": []any{fields{"configMap": fields{"name": "c"}}}}})),
			},
			fail: []attempt{
				create(volume(fields{"name": "b"})),
				create(volume(fields{"name": "b", "emptyDir": fields{}, "configMap": fields{"name": "c"}})),
				update(volume(fields{"name": "b"})),
			},
		},
		{
			kind: server, path: "spec.extraVolumes[]", says: "volumes of the operator",
			pass: []attempt{create(volume(fields{"name": "tmp-2", "emptyDir": fields{}}))},
			fail: []attempt{
				create(volume(fields{"name": "tmp", "emptyDir": fields{}})),
				update(volume(fields{"name": "tmp", "emptyDir": fields{}})),
			},
		},
		{
			kind: server, path: "spec.extraVolumes[]", says: "projected needs at least one",
			pass: []attempt{create(volume(fields{"name": "b", "projected": fields{"sources": []any{fields{"secret": fields{"name": "c"}}}}}))},
			fail: []attempt{
				create(volume(fields{"name": "b", "projected": fields{}})),
				create(volume(fields{"name": "b", "projected": fields{"sources": []any{}}})),
				update(volume(fields{"name": "b", "projected": fields{"defaultMode": 0o400}})),
			},
		},
		{
			kind: server, path: "spec.extraVolumeMounts[]", says: "set subPath or subPathExpr",
			pass: []attempt{
				create(set("spec.extraVolumeMounts[0].subPathExpr", "")),
				create(unset("spec.extraVolumeMounts[0].subPath"), set("spec.extraVolumeMounts[0].subPathExpr", "$(TZ)")),
			},
			fail: []attempt{create(set("spec.extraVolumeMounts[0].subPathExpr", "$(TZ)"))},
		},
		{
			kind: server, path: "spec.extraVolumeMounts[].mountPath", says: "operator's mounts",
			pass: []attempt{create(mount("/tmp2")), create(mount("/tmp/cache")), create(mount("/etc/ssl/certs"))},
			fail: []attempt{create(mount("/tmp")), update(mount("/tmp"))},
		},
		{
			kind: server, path: "spec", says: "bears the name of one of extraVolumes",
			pass: []attempt{
				create(unset("spec.extraVolumeMounts")),
				create(set("spec.extraVolumes", []any{aVolume}), set("spec.extraVolumeMounts", []any{aMount})),
			},
			fail: []attempt{
				create(unset("spec.extraVolumes")),
				create(set("spec.extraVolumeMounts", []any{fields{"name": "other", "mountPath": "/x"}})),
				update(set("spec.extraVolumes", []any{})),
			},
		},
	}
}

// externalPodGroup tries every field about pods with a server that has none of ours.
func externalPodGroup() group {
	g := group{kind: server, path: "spec", says: "remove what shapes pods"}
	bare := append([]edit{unset("spec.networking.gatewayListener"), set("spec.external", fields{
		"url": "https://terdut.example.com", "adminKeySecretRef": fields{"name": "admin", "key": "key"},
	}), unset("spec.bootstrap")}, elsewhere...)
	shaping := []string{
		"resources", "imagePullSecrets", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName",
		"podLabels", "podAnnotations", "extraEnv", "extraVolumes", "extraVolumeMounts", "podSecurityContext",
		"containerSecurityContext", "takeOver",
	}
	for _, field := range shaping {
		bare = append(bare, unset("spec."+field))
	}
	g.pass = []attempt{create(bare...)}
	valid := base(server)
	for _, field := range shaping {
		edits := append(append([]edit{}, bare...), set("spec."+field, lookup(valid, "spec."+field)))
		if field == "extraVolumeMounts" {
			edits = append(edits, set("spec.extraVolumes", lookup(valid, "spec.extraVolumes")))
		}
		g.fail = append(g.fail, create(edits...))
	}
	g.fail = append(g.fail, create(append(append([]edit{}, bare...), set("spec.networking.gatewayListener", "gateways/public"))...))
	return g
}

var fieldRef = fields{"fieldRef": fields{"fieldPath": "metadata.name"}}

// envGroup tries variables.
func envGroup(says string, pass, fail []fields) group {
	g := group{kind: server, path: "spec.extraEnv[]", says: says}
	for _, variable := range pass {
		g.pass = append(g.pass, create(set("spec.extraEnv", []any{variable})))
	}
	for _, variable := range fail {
		g.fail = append(g.fail, create(set("spec.extraEnv", []any{variable})))
	}
	g.pass = append(g.pass, create(noEnv))
	g.fail = append(g.fail, update(set("spec.extraEnv", []any{fail[0]})))
	return g
}

// keys tries keys of a map that are the operator's.
func keys(path, says string, ours ...string) group {
	g := group{kind: server, path: path, says: says, pass: []attempt{
		create(set(path, fields{})),
		create(set(path, fields{"app.kubernetes.io/version": "1", "team": ""})),
	}}
	for _, key := range ours {
		g.fail = append(g.fail, create(set(path, fields{key: "x"})), update(set(path, fields{"a": "b", key: "x"})))
	}
	return g
}

var _ = Describe("The size of the definitions", func() {
	// A client-side apply keeps the whole object in an annotation, of which 256 KiB is the limit.
	It("lets kubectl apply them in the ordinary way, too", func() {
		for kind, definition := range byKind(definitions()) {
			content, err := json.Marshal(definition)
			Expect(err).NotTo(HaveOccurred())
			Expect(len(content)).To(BeNumerically("<", 256<<10), kind)
		}
	})
})
