// Package postgres starts a real PostgreSQL for tests: a server of its own in a temporary directory, on a free loopback
// port, that takes TLS connections with scram-sha-256 passwords and no others.
//
// The programs are those of the machine (Debian's package postgresql, or any initdb and postgres in PATH). Nothing of an
// installed cluster is read or touched. PostgreSQL refuses to run as root, so under root it runs as the user postgres.
// The server ends with [Postgres.Stop], and on Linux with the calling process in every case; the directory goes with it.
package postgres
