package postgres_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/postgres"
)

// hostile is a name and a password that break whoever joins strings.
const hostile = `p@ss/w?rd#1 '"\%2F:äß`

func start(t *testing.T) *postgres.Postgres {
	t.Helper()
	postgres.Need(t)
	pg, err := postgres.Start(t.Context(), postgres.Options{Names: []string{"db.oncall.svc"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stopErr := pg.Stop(); stopErr != nil {
			t.Error(stopErr)
		}
	})
	return pg
}

// connect logs in with a password and hangs up.
func connect(ctx context.Context, dsn, password string) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return err
	}
	config.Password = password
	connection, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return connection.Close(ctx)
}

func TestServer(t *testing.T) {
	pg := start(t)
	g, ctx := NewWithT(t), t.Context()
	g.Expect(pg.CreateDatabase(ctx, hostile, hostile, hostile)).To(Succeed())
	dsn := pg.URL(hostile, hostile)

	t.Run("takes the right password over TLS only", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(connect(ctx, dsn, hostile)).To(Succeed())
		g.Expect(connect(ctx, dsn, "wrong")).To(MatchError(ContainSubstring("password authentication failed")))
		g.Expect(connect(ctx, pg.URL(hostile, hostile, "sslmode", "disable"), hostile)).
			To(MatchError(ContainSubstring("no encryption")))
		g.Expect(strings.Contains(dsn, hostile)).To(BeFalse())
	})
	t.Run("shows a certificate of its own CA", func(t *testing.T) {
		g := NewWithT(t)
		other := filepath.Join(t.TempDir(), "ca.crt")
		stranger := start(t)
		g.Expect(os.WriteFile(other, stranger.CAPEM, 0o600)).To(Succeed())
		g.Expect(connect(ctx, pg.URL(hostile, hostile, "sslrootcert", other), hostile)).
			To(MatchError(ContainSubstring("certificate")))
	})
	t.Run("changes a password", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(pg.SetPassword(ctx, hostile, "new")).To(Succeed())
		g.Expect(connect(ctx, dsn, hostile)).NotTo(Succeed())
		g.Expect(connect(ctx, dsn, "new")).To(Succeed())
	})
	t.Run("goes and comes back at the same address", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(pg.Down()).To(Succeed())
		g.Expect(pg.Down()).To(Succeed())
		g.Expect(connect(ctx, dsn, "new")).NotTo(Succeed())
		g.Expect(pg.Up(ctx)).To(Succeed())
		g.Expect(connect(ctx, dsn, "new")).To(Succeed())
	})
	t.Run("disconnects a user", func(t *testing.T) {
		g := NewWithT(t)
		connection, err := pg.Connect(ctx, hostile)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pg.Disconnect(ctx, "postgres")).To(Succeed())
		g.Expect(connection.Ping(ctx)).NotTo(Succeed())
	})
	t.Run("takes a second database of the same owner", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(pg.CreateDatabase(ctx, "second", hostile, "newer")).To(Succeed())
		g.Expect(connect(ctx, pg.URL("second", hostile), "newer")).To(Succeed())
		g.Expect(pg.CreateDatabase(ctx, "second", hostile, "newer")).To(MatchError(ContainSubstring(`make database "second"`)))
	})
}

func TestStopLeavesNothing(t *testing.T) {
	postgres.Need(t)
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.Chmod(dir, 0o755)).To(Succeed())
	g.Expect(os.Chmod(filepath.Dir(dir), 0o755)).To(Succeed())
	t.Setenv("TMPDIR", dir)
	log := filepath.Join(t.TempDir(), "log")
	pg, err := postgres.Start(t.Context(), postgres.Options{LogFile: log})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pg.Stop()).To(Succeed())
	g.Expect(os.ReadDir(dir)).To(BeEmpty())
	g.Expect(os.ReadFile(log)).To(ContainSubstring("database system is shut down"))
}

func TestBadAddress(t *testing.T) {
	postgres.Need(t)
	_, err := postgres.Start(t.Context(), postgres.Options{Address: "192.0.2.1"})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("find a free port on 192.0.2.1")))
}
