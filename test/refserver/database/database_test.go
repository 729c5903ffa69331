package database_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/postgres"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/database"
)

const (
	// hostile names break whoever joins strings.
	hostile  = `d@ta/b?s #1 '"\%2F:ä`
	password = `canary@ss/w?rd#1 '"\%2F`
)

func start(t *testing.T) *postgres.Postgres {
	t.Helper()
	postgres.Need(t)
	pg, err := postgres.Start(t.Context(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stopErr := pg.Stop(); stopErr != nil {
			t.Error(stopErr)
		}
	})
	if err = pg.CreateDatabase(t.Context(), hostile, hostile, password); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSWORD", password)
	return pg
}

func open(t *testing.T, pg *postgres.Postgres) *database.Store {
	t.Helper()
	store, err := database.Open(t.Context(), pg.URL(hostile, hostile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

// replace is a change that does not look at what it changes.
func replace(state string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(state), nil }
}

func TestStore(t *testing.T) {
	pg := start(t)
	ctx := t.Context()

	t.Run("begins without a revision and gives back what was saved", func(t *testing.T) {
		g, store := NewWithT(t), open(t, pg)
		empty, err := store.Load(ctx, "")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(empty.Revision).To(BeEmpty())
		g.Expect(empty.State).To(BeNil())

		state := `{"b":1,  "a":"\u0000 ' ä"}`
		revision, err := store.Update(ctx, replace(state))
		g.Expect(err).NotTo(HaveOccurred())
		loaded, err := store.Load(ctx, "")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(loaded.Revision).To(Equal(revision))
		g.Expect(string(loaded.State)).To(Equal(state))

		same, err := open(t, pg).Load(ctx, revision)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(same.Revision).To(Equal(revision))
		g.Expect(same.State).To(BeNil())
		g.Expect(store.Update(ctx, replace(state))).To(Equal(revision), "nothing changed")
	})
	t.Run("keeps nothing of a refused change", func(t *testing.T) {
		g, store := NewWithT(t), open(t, pg)
		before, err := store.Load(ctx, "")
		g.Expect(err).NotTo(HaveOccurred())
		refusal := errors.New("refused")
		_, err = store.Update(ctx, func([]byte) ([]byte, error) { return []byte(`{}`), refusal })
		g.Expect(err).To(MatchError(refusal))
		g.Expect(store.Load(ctx, "")).To(Equal(before))
	})
	t.Run("sees that somebody has emptied the table", func(t *testing.T) {
		g, store := NewWithT(t), open(t, pg)
		revision, err := store.Update(ctx, replace(`{"x":1}`))
		g.Expect(err).NotTo(HaveOccurred())
		admin, err := pg.Connect(ctx, hostile)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = admin.Exec(ctx, `TRUNCATE refserver_state`)
		g.Expect(errors.Join(err, admin.Close(ctx))).To(Succeed())
		gone, err := store.Load(ctx, revision)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(gone.Revision).To(BeEmpty())
	})
	t.Run("refuses a write that went past the lock", func(t *testing.T) {
		g, store := NewWithT(t), open(t, pg)
		_, err := store.Update(ctx, replace(`{}`))
		g.Expect(err).NotTo(HaveOccurred())
		_, err = store.Update(ctx, func([]byte) ([]byte, error) {
			admin, connectErr := pg.Connect(ctx, hostile)
			if connectErr != nil {
				return nil, connectErr
			}
			_, execErr := admin.Exec(ctx, `UPDATE refserver_state SET revision = gen_random_uuid()`)
			return []byte(`{"x":2}`), errors.Join(execErr, admin.Close(ctx))
		})
		g.Expect(err).To(MatchError(ContainSubstring("changed meanwhile")))
	})
	t.Run("lets writers of several servers take turns", func(t *testing.T) {
		g := NewWithT(t)
		stores := []*database.Store{open(t, pg), open(t, pg), open(t, pg)}
		_, err := stores[0].Update(ctx, replace(`""`))
		g.Expect(err).NotTo(HaveOccurred())
		const each = 20
		var group sync.WaitGroup
		failures := make(chan error, len(stores)*each)
		for _, store := range stores {
			group.Go(func() {
				for range each {
					_, updateErr := store.Update(ctx, func(state []byte) ([]byte, error) {
						return []byte(`"x` + strings.TrimPrefix(string(state), `"`)), nil
					})
					failures <- updateErr
				}
			})
		}
		group.Wait()
		close(failures)
		for failure := range failures {
			g.Expect(failure).NotTo(HaveOccurred())
		}
		last, err := stores[0].Load(ctx, "")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(last.State)).To(Equal(`"` + strings.Repeat("x", len(stores)*each) + `"`))
	})
	t.Run("is opened by several servers at once", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(pg.CreateDatabase(ctx, "fresh", hostile, password)).To(Succeed())
		failures := make(chan error, 8)
		for range cap(failures) {
			go func() {
				store, err := database.Open(ctx, pg.URL("fresh", hostile))
				if err == nil {
					store.Close()
				}
				failures <- err
			}()
		}
		for range cap(failures) {
			g.Expect(<-failures).NotTo(HaveOccurred())
		}
	})
}

func TestOpenSaysInOneLineWhatIsWrong(t *testing.T) {
	pg := start(t)
	stranger := filepath.Join(t.TempDir(), "stranger.crt")
	if err := os.WriteFile(stranger, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ dsn, password, want string }{
		"password":    {pg.URL(hostile, hostile), "canary", `password authentication failed for user "d@ta/b?s`},
		"user":        {pg.URL(hostile, "nobody"), password, `authentication failed for user "nobody"`},
		"database":    {pg.URL("nothing", hostile), password, `database "nothing" does not exist`},
		"no TLS":      {pg.URL(hostile, hostile, "sslmode", "disable"), password, "no encryption"},
		"sslmode":     {pg.URL(hostile, hostile, "sslmode", "canary"), password, "sslmode is invalid"},
		"no CA":       {pg.URL(hostile, hostile, "sslrootcert", "/nowhere"), password, "/nowhere"},
		"bad CA":      {pg.URL(hostile, hostile, "sslrootcert", stranger), password, "CA"},
		"nobody":      {"postgres://u@127.0.0.1:1/db", password, "127.0.0.1:1"},
		"in the DSN":  {fmt.Sprintf("postgres://u:canary@%s/db", pg.Host), password, "must not hold a password: set PGPASSWORD"},
		"not escaped": {"postgres://u@h:port/db", password, "is not a URL"},
		"scheme":      {"mysql://u@h/db", password, "must start with postgres://"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv("PGPASSWORD", c.password)
			store, err := database.Open(context.Background(), c.dsn)
			if err == nil {
				store.Close()
			}
			g.Expect(err).To(MatchError(HavePrefix("database: ")))
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
			g.Expect(err).NotTo(MatchError(ContainSubstring("\n")))
			g.Expect(err).NotTo(MatchError(ContainSubstring("canary")))
		})
	}
}

func TestTLSModes(t *testing.T) {
	pg := start(t)
	for _, mode := range []string{"prefer", "require", "verify-ca", "verify-full"} {
		t.Run(mode, func(t *testing.T) {
			store, err := database.Open(t.Context(), pg.URL(hostile, hostile, "sslmode", mode))
			if err != nil {
				t.Fatal(err)
			}
			store.Close()
		})
	}
}
