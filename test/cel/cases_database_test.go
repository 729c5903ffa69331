package cel_test

var (
	noDSN      = unset("spec.database.dsn")
	noPassword = unset("spec.database.passwordSecretRef")
	noCA       = unset("spec.database.caSecretRef")
	zalando    = set("spec.database.postgresClusterRef", fields{"name": "terdut-postgres"})
	cnpg       = set("spec.database.cnpgClusterRef", fields{"name": "terdut-postgres", "database": "terdut", "user": "pager"})
)

// databaseGroups try the rules of the database, save those of what may stand in
// the DSN.
func databaseGroups() []group {
	return []group{
		{
			kind: server, path: "spec", says: "database is required",
			pass: []attempt{create(), create(noDSN, noPassword, cnpg)},
			fail: []attempt{create(unset("spec.database")), update(unset("spec.database"))},
		},
		{
			kind: server, path: "spec.database", says: "set exactly one of dsn, postgresClusterRef and cnpgClusterRef",
			pass: []attempt{
				create(noPassword),
				create(noDSN, noPassword, zalando),
				create(noDSN, noPassword, cnpg),
				create(set("spec.database.dsn", ""), noPassword, zalando),
				update(noDSN, noPassword, zalando),
				update(noDSN, noPassword, cnpg),
			},
			fail: []attempt{
				create(zalando),
				create(cnpg),
				create(noPassword, zalando),
				create(noDSN, noPassword, zalando, cnpg),
				create(noCA, noDSN),
				create(set("spec.database", fields{"restartOnRotation": true})),
				create(noCA, set("spec.database.dsn", "")),
				update(zalando),
				update(noDSN, noPassword),
			},
		},
		{
			kind: server, path: "spec.database", says: "passwordSecretRef goes with dsn",
			pass: []attempt{
				create(),
				create(noDSN, zalando, set("spec.database.passwordSecretRef", fields{"name": "", "key": "password"})),
				create(noDSN, cnpg, set("spec.database.passwordSecretRef", fields{})),
			},
			fail: []attempt{
				create(noDSN, zalando),
				create(noDSN, cnpg),
				create(set("spec.database.dsn", ""), zalando),
				update(noDSN, zalando),
			},
		},
		{
			kind: server, path: "spec.database", says: "sslMode goes with postgresClusterRef and cnpgClusterRef",
			pass: []attempt{
				create(),
				create(noDSN, noPassword, zalando, set("spec.database.sslMode", "verify-full")),
				create(noDSN, noPassword, cnpg, set("spec.database.sslMode", "require")),
			},
			fail: []attempt{
				create(set("spec.database.sslMode", "require")),
				create(noCA, set("spec.database.sslMode", "disable")),
				update(set("spec.database.sslMode", "verify-full")),
			},
		},
		{
			kind: server, path: "spec.database", says: "dsn names sslrootcert already",
			pass: []attempt{
				create(),
				create(noCA, set("spec.database.dsn", "postgres://db/terdut?sslmode=verify-full&sslrootcert=/etc/ca/ca.crt")),
				create(set("spec.database.caSecretRef", fields{"name": ""}), set("spec.database.dsn", "postgres://db/terdut?sslrootcert=system")),
			},
			fail: []attempt{
				create(set("spec.database.dsn", "postgres://db/terdut?sslmode=verify-full&sslrootcert=/etc/ca/ca.crt")),
				create(set("spec.database.dsn", "postgres://db/terdut?sslrootcert=system&sslmode=require")),
				update(set("spec.database.dsn", "postgres://db/terdut?sslmode=require&SSLRootCert=/x")),
			},
		},
		{
			kind: server, path: "spec.database", says: "caSecretRef is looked at only where",
			pass: []attempt{
				create(),
				create(set("spec.database.dsn", "postgres://db/terdut?sslmode=verify-ca&application_name=a")),
				create(noCA, set("spec.database.dsn", "postgres://db/terdut")),
				create(noDSN, noPassword, cnpg),
				create(noDSN, noPassword, zalando, set("spec.database.sslMode", "verify-ca")),
				create(noCA, noDSN, noPassword, zalando, set("spec.database.sslMode", "disable")),
			},
			fail: []attempt{
				create(set("spec.database.dsn", "postgres://db/terdut")),
				create(set("spec.database.dsn", "postgres://db/terdut?sslmode=prefer")),
				create(set("spec.database.dsn", "postgres://db/terdut?sslmode=required")),
				create(set("spec.database.dsn", "postgres://db/terdut?application_name=sslmode%3Drequire")),
				create(noDSN, noPassword, zalando, set("spec.database.sslMode", "disable")),
				create(noDSN, noPassword, cnpg, set("spec.database.sslMode", "allow")),
				update(set("spec.database.dsn", "postgres://db/terdut?sslmode=disable")),
			},
		},
		{
			kind: server, path: "spec.database", says: "sslMode verify-ca and verify-full check",
			pass: []attempt{
				create(noDSN, noPassword, zalando, set("spec.database.sslMode", "verify-full")),
				create(noCA, noDSN, noPassword, cnpg, set("spec.database.sslMode", "verify-full")),
				create(noCA, noDSN, noPassword, zalando, set("spec.database.sslMode", "require")),
				create(noCA, noDSN, noPassword, zalando),
			},
			fail: []attempt{
				create(noCA, noDSN, noPassword, zalando, set("spec.database.sslMode", "verify-full")),
				create(noDSN, noPassword, zalando, set("spec.database.sslMode", "verify-ca"), set("spec.database.caSecretRef.name", "")),
				update(noCA, noDSN, noPassword, zalando, set("spec.database.sslMode", "verify-ca")),
			},
		},
	}
}
