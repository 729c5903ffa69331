package server

import (
	"net"
	"net/url"
)

const (
	postgresPort = "5432"
	// defaultSSLMode encrypts, and trusts the network that the name of the
	// Service leads to the database.
	defaultSSLMode = "require"
)

// checksCertificate tells whether a connection fails when the database's
// certificate is not signed by a certificate authority that the client knows.
func checksCertificate(mode string) bool { return mode == "verify-ca" || mode == "verify-full" }

// clusterDSN leads to a database in a cluster. Names of users and databases are
// anything; the URL encodes them, so that none can lead elsewhere.
func clusterDSN(found clusterDatabase, mode string, ca bool) string {
	dsn := url.URL{
		Scheme: "postgres",
		User:   url.User(found.user),
		Host:   net.JoinHostPort(found.host, postgresPort),
		Path:   "/" + found.database,
		// A slash or a question mark in a name is part of it.
		RawPath:  "/" + url.PathEscape(found.database),
		RawQuery: url.Values{"sslmode": {mode}}.Encode(),
	}
	if ca {
		dsn.RawQuery += "&" + rootCertificate()
	}
	return dsn.String()
}

// withCA adds the mounted certificate authority to a DSN, and leaves the rest
// of it as it is written.
func withCA(dsn string) (string, error) {
	parsed, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	if parsed.RawQuery != "" {
		parsed.RawQuery += "&"
	}
	parsed.RawQuery += rootCertificate()
	return parsed.String(), nil
}

// rootCertificate is the parameter that names the mounted certificate
// authority. A slash needs no encoding in a query.
func rootCertificate() string { return "sslrootcert=" + caMount + "/" + caFile }
