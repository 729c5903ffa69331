package e2e

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"github.com/jackc/pgx/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certutil "k8s.io/client-go/util/cert"

	"git.ryuvia.com/niklas/terdut-operator/test/e2e/tunnel"
	"git.ryuvia.com/niklas/terdut-operator/test/postgres"
)

// databaseHost is the Service of the PostgreSQL.
const databaseHost = "postgres." + outside + ".svc"

// database is a real PostgreSQL in a pod.
type database struct {
	tunnel *tunnel.Tunnel
	// superuser is the password of the role postgres.
	superuser string
}

// startDatabase installs PostgreSQL and waits until it answers.
func (w *world) startDatabase(ctx context.Context) {
	GinkgoHelper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey(databaseHost, nil, []string{databaseHost})
	Expect(err).NotTo(HaveOccurred())
	w.database.superuser = rand.Text()
	Expect(w.apply(ctx, "postgres.yaml", map[string]string{
		"Namespace": outside, "Image": w.postgres.Name, "Bin": w.postgresBin,
		"Password": encode(w.database.superuser), "Certificate": encode(string(certificate)), "Key": encode(string(key)),
	})).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		connection, err := w.database.open(ctx, "postgres")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(connection.Close(ctx)).To(Succeed())
	}).Should(Succeed())
}

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// open connects to one database as the superuser.
func (d *database) open(ctx context.Context, name string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(fmt.Sprintf("postgres://postgres@%s:5432/%s?sslmode=require", databaseHost, name))
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	config.Password = d.superuser
	config.DialFunc = d.tunnel.Dial
	// The tunnel resolves names itself.
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	connection, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return connection, nil
}

// admin makes roles and databases.
func (d *database) admin() postgres.Admin {
	return postgres.Admin{Open: func(ctx context.Context) (*pgx.Conn, error) { return d.open(ctx, "postgres") }}
}

// create makes an empty database whose owner has the same name, and returns the owner's password.
func (d *database) create(ctx context.Context, name string) string {
	GinkgoHelper()
	connection, err := d.open(ctx, "postgres")
	Expect(err).NotTo(HaveOccurred())
	_, err = connection.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
	Expect(err).NotTo(HaveOccurred())
	Expect(connection.Close(ctx)).To(Succeed())
	password := rand.Text()
	Expect(d.admin().CreateDatabase(ctx, name, name, password)).To(Succeed())
	return password
}

// tables is how many tables somebody has made in a database.
func (d *database) tables(ctx context.Context, name string) (count int, err error) {
	connection, err := d.open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = connection.Close(ctx) }() // what was asked is answered
	err = connection.QueryRow(ctx, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`).Scan(&count)
	return count, err
}
