package cel_test

const dsnPath = "spec.database.dsn"

// dsnGroups try what may stand in the DSN, which everybody can read who can read the TerdutServer.
func dsnGroups() []group {
	return []group{
		{
			kind: server, path: "spec.database", says: "dsn must be a URL",
			secrets: []string{"s3cret"},
			pass: dsns(
				"postgres://terdut@terdut-postgres:5432/terdut?sslmode=require",
				"postgresql://db/terdut",
				"postgres://db",
				"postgres://db.postgres.svc.cluster.local:5432/terdut",
				"postgres://[fd00::1]:5432/terdut",
				"postgres://10.0.0.1/terdut?sslmode=verify-full&connect_timeout=5",
			),
			fail: dsns(
				"http://terdut@db:5432/terdut",
				"https://db/terdut",
				"mysql://db/terdut",
				"mysql://terdut@db/terdut?key=s3cret",
				"user=terdut password=s3cret host=db",
				"memory://",
				"POSTGRES//db/terdut",
				"db:5432/terdut",
				"host=db user=terdut dbname=terdut",
				"postgres:///terdut",
				"postgres://",
				"postgres://terdut@/terdut",
				"postgres://terdut@:5432/terdut",
				"postgres:terdut@db/terdut",
				"postgres:/db/terdut",
				" postgres://db/terdut",
				"postgres://db/ter dut\n",
				"postgres://db:port/terdut",
				"$(DSN)",
			),
		},
		{
			kind: server, path: "spec.database", says: "may not carry a password",
			overlaps: true,
			secrets:  []string{"secret", "pa/ss", "pa?ss", "pa#ss", "p@ss", "sec%40ret"},
			pass: dsns(
				"postgres://terdut@db/terdut",
				"postgres://terdut%40corp@db:5432/terdut",
				"postgres://db:5432/ter%40dut",
				"postgres://terdut@db/ter:dut",
			),
			fail: dsns(
				"postgres://terdut:secret@db/terdut",
				"postgres://terdut:@db/terdut",
				"postgres://:secret@db/terdut",
				"postgresql://terdut:sec%40ret@db/terdut",
				"postgres://u:pa/ss@h/db",
				"postgres://u:pa?ss@h/db",
				"postgres://u:pa#ss@h/db",
				"postgres://u:p@ss@h/db",
				"postgres://u:p@ss/w@h/db",
				"postgres://terdut@db/terdut?application_name=a@b",
			),
		},
		{
			kind: server, path: "spec.database", says: "in its query",
			overlaps: true,
			secrets:  []string{"=secret", "sec;ret", "elsewhere"},
			pass: dsns(
				"postgres://terdut@db/terdut?sslmode=require&application_name=terdut",
				"postgres://terdut@db/terdut?sslrootcert=/etc/ca/ca.crt",
				"postgres://terdut@db/terdut?application_name=a%20b&options=-c%20statement_timeout%3D5s",
				"postgres://terdut@db/terdut?",
				"postgres://password@password/password",
			),
			fail: dsns(
				"postgres://terdut@db/terdut?password=secret",
				"postgres://terdut@db/terdut?sslmode=require&password=secret",
				"postgres://terdut@db/terdut?%70assword=secret",
				"postgres://terdut@db/terdut?PassWord=secret",
				"postgres://terdut@db/terdut?password=sec;ret",
				"postgres://terdut@db/terdut?sslmode=require;password=secret",
				"postgres://terdut@db/terdut?password=%zz",
				"postgres://terdut@db/terdut?password=100%",
				"postgres://terdut@db/terdut?password",
				"postgres://terdut@db/terdut?a=b?password=secret&password=secret",
				"postgres://terdut@db/terdut#?password=secret",
				"postgres://terdut@db?passfile=/tmp/pgpass",
				"postgres://terdut@db/terdut?sslpassword=secret",
				"postgres://terdut@db/terdut?host=elsewhere",
				"postgres://terdut@db/terdut?hostaddr=10.0.0.1",
				"postgres://terdut@db/terdut?service=prod",
				"postgres://terdut@db/terdut?servicefile=/tmp/services",
			),
		},
	}
}

func dsns(values ...string) []attempt {
	var attempts []attempt
	for _, value := range values {
		attempts = append(attempts, create(noCA, set(dsnPath, value)))
	}
	return append(attempts, update(noCA, set(dsnPath, values[0])))
}
