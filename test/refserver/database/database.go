// Package database keeps the reference server's state in PostgreSQL. The model is small and lives in memory; the database
// holds all of it as one document in one row, and several servers may share it: writers take turns by an advisory lock of
// the transaction, and every document has a revision that readers compare.
package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

const (
	// timeout bounds each call, from waiting for a connection to the commit.
	timeout = 5 * time.Second
	// connections is how many a server holds: the model makes one call at a time, and /healthz asks beside it.
	connections = 4
	// lock is the key of the advisory lock; it means something in this database only.
	lock = 0x7465726475740000
)

// schema makes the table. The type is json, not jsonb, because it gives back byte for byte what was written and takes the
// character U+0000 in strings.
const schema = `
CREATE TABLE IF NOT EXISTS refserver_state (
	slot     integer     PRIMARY KEY DEFAULT 1 CHECK (slot = 1),
	revision uuid        NOT NULL,
	saved_at timestamptz NOT NULL DEFAULT now(),
	state    json        NOT NULL
)`

// Store is a model.Store in a PostgreSQL database. It is safe for concurrent use.
type Store struct{ pool *pgxpool.Pool }

var _ model.Store = (*Store)(nil)

// Check returns what is wrong with a DSN, without repeating it: its scheme is postgres or postgresql, and it holds no
// password, which comes in the variable PGPASSWORD.
func Check(dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil {
		return errors.New("is not a URL: names with special characters must be percent-encoded")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("must start with postgres:// or postgresql://")
	}
	_, inUser := u.User.Password()
	if query := u.Query(); inUser || query.Has("password") || query.Has("passfile") {
		return errors.New("must not hold a password: set PGPASSWORD")
	}
	return nil
}

// Open connects to the database that a DSN names, with the password in the variable PGPASSWORD, and makes the table if it
// is missing. The DSN's sslmode and sslrootcert decide over TLS as they do for other clients of PostgreSQL. An error is one
// line and holds no password.
func Open(ctx context.Context, dsn string) (*Store, error) {
	if err := Check(dsn); err != nil {
		return nil, fmt.Errorf("database: the DSN %w", err)
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database: read the DSN: %w", line(err))
	}
	config.MaxConns = connections
	// A database that restarts breaks all connections at once; unasked, each would cost a request.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("database: %w", line(err))
	}
	s := &Store{pool: pool}
	err = s.locked(ctx, func(tx pgx.Tx) error {
		_, execErr := tx.Exec(ctx, schema)
		return execErr
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("database: %w", line(err))
	}
	return s, nil
}

// Close gives the connections back.
func (s *Store) Close() { s.pool.Close() }

// String says where the state is.
func (s *Store) String() string {
	c := s.pool.Config().ConnConfig
	return fmt.Sprintf("database %q on %s", c.Database, net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))))
}

// locked runs do in a transaction that is alone among those of all servers. The isolation is read committed whatever the
// database's default: each statement after the lock has to see what the last holder of the lock committed.
func (s *Store) locked(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite},
		func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(lock)); err != nil {
				return err
			}
			return do(tx)
		})
}

// Load implements model.Store.
func (s *Store) Load(ctx context.Context, known string) (model.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var snapshot model.Snapshot
	// Without a row nothing was saved yet, or somebody has emptied the table.
	err := s.pool.QueryRow(ctx,
		`SELECT revision::text, CASE WHEN revision::text <> $1 THEN state::text END FROM refserver_state`, known).
		Scan(&snapshot.Revision, (*text)(&snapshot.State))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return model.Snapshot{}, fmt.Errorf("database: %w", line(err))
	}
	return snapshot, nil
}

// Update implements model.Store.
func (s *Store) Update(ctx context.Context, change func(state []byte) ([]byte, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var revision string
	var refused error // by change, and not by the database
	err := s.locked(ctx, func(tx pgx.Tx) error {
		var state text
		err := tx.QueryRow(ctx, `SELECT revision::text, state::text FROM refserver_state`).Scan(&revision, &state)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		next, err := change(state)
		if err != nil {
			refused = err
			return err
		}
		if string(next) == string(state) {
			return nil
		}
		revision, err = save(ctx, tx, revision, next)
		return err
	})
	switch {
	case refused != nil:
		return "", refused
	case err != nil:
		return "", fmt.Errorf("database: %w", line(err))
	}
	return revision, nil
}

// errOvertaken is a write by somebody who does not take the lock.
var errOvertaken = errors.New("the state was changed meanwhile, without the lock")

// save replaces the document of a revision, empty for none, and returns the new revision.
func save(ctx context.Context, tx pgx.Tx, revision string, state []byte) (string, error) {
	var next string
	err := tx.QueryRow(ctx, `
		INSERT INTO refserver_state (revision, state) VALUES (gen_random_uuid(), $2::text::json)
		ON CONFLICT (slot) DO UPDATE SET revision = excluded.revision, saved_at = now(), state = excluded.state
		WHERE refserver_state.revision::text = $1
		RETURNING revision::text`, revision, string(state)).Scan(&next)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", errOvertaken
	}
	return next, err
}

// Ping implements model.Store.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := s.pool.Exec(ctx, `SELECT revision FROM refserver_state`); err != nil {
		return fmt.Errorf("database: %w", line(err))
	}
	return nil
}

// text scans a column that may be NULL into bytes.
type text []byte

// ScanText implements pgtype.TextScanner.
func (t *text) ScanText(v pgtype.Text) error {
	*t = nil
	if v.Valid {
		*t = []byte(v.String)
	}
	return nil
}
