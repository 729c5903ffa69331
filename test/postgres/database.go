package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// superuser is the role that initdb makes, and the name of the database that is always there.
const superuser = "postgres"

// URL returns the DSN of a database for a user, without a password: postgres://user@host:port/database, and the query
// sslmode=verify-full with the server's CA. Parameters are added, or replace these two.
func (p *Postgres) URL(database, user string, parameters ...string) string {
	query := url.Values{"sslmode": {"verify-full"}, "sslrootcert": {p.CAFile}}
	for i := 0; i+1 < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	dsn := url.URL{
		Scheme: "postgres", User: url.User(user), Host: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)),
		Path: "/" + database, RawPath: "/" + url.PathEscape(database), RawQuery: query.Encode(),
	}
	return dsn.String()
}

// Connect connects to a database as its superuser. The caller closes the connection.
func (p *Postgres) Connect(ctx context.Context, database string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(p.URL(database, superuser))
	if err != nil {
		return nil, fmt.Errorf("connect to database %q: %w", database, err)
	}
	config.Password = p.password
	connection, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to database %q: %w", database, err)
	}
	return connection, nil
}

// Admin does what the owner of a server does, on a server that this package has started or on any other.
type Admin struct {
	// Open connects to a database that is always there, as a superuser. It is called for each operation.
	Open func(ctx context.Context) (*pgx.Conn, error)
}

// Admin is the owner of this server.
func (p *Postgres) Admin() Admin {
	return Admin{Open: func(ctx context.Context) (*pgx.Conn, error) { return p.Connect(ctx, superuser) }}
}

// CreateDatabase is [Admin.CreateDatabase] on this server.
func (p *Postgres) CreateDatabase(ctx context.Context, database, owner, password string) error {
	return p.Admin().CreateDatabase(ctx, database, owner, password)
}

// SetPassword is [Admin.SetPassword] on this server.
func (p *Postgres) SetPassword(ctx context.Context, user, password string) error {
	return p.Admin().SetPassword(ctx, user, password)
}

// Disconnect is [Admin.Disconnect] on this server.
func (p *Postgres) Disconnect(ctx context.Context, user string) error {
	return p.Admin().Disconnect(ctx, user)
}

// CreateDatabase makes a role that can log in with the password, and a database that it owns. A role that exists gets the
// password; a database that exists is an error.
func (a Admin) CreateDatabase(ctx context.Context, database, owner, password string) error {
	return a.administer(ctx, func(c *pgx.Conn) error {
		var exists bool
		err := c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, owner).Scan(&exists)
		if err != nil {
			return fmt.Errorf("look for role %q: %w", owner, err)
		}
		role := `CREATE ROLE %I LOGIN PASSWORD %L`
		if exists {
			role = `ALTER ROLE %I LOGIN PASSWORD %L`
		}
		if err = run(ctx, c, role, owner, password); err != nil {
			return fmt.Errorf("make role %q: %w", owner, err)
		}
		if err = run(ctx, c, `CREATE DATABASE %I OWNER %I`, database, owner); err != nil {
			return fmt.Errorf("make database %q: %w", database, err)
		}
		return nil
	})
}

// SetPassword changes a role's password. Connections that stand are not asked again: end them with [Postgres.Disconnect].
func (a Admin) SetPassword(ctx context.Context, user, password string) error {
	return a.administer(ctx, func(c *pgx.Conn) error {
		if err := run(ctx, c, `ALTER ROLE %I PASSWORD %L`, user, password); err != nil {
			return fmt.Errorf("set password of role %q: %w", user, err)
		}
		return nil
	})
}

// Disconnect breaks every connection of a user, but not the one that it uses itself.
func (a Admin) Disconnect(ctx context.Context, user string) error {
	return a.administer(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1
			AND pid <> pg_backend_pid()`, user)
		if err != nil {
			return fmt.Errorf("disconnect role %q: %w", user, err)
		}
		return nil
	})
}

func (a Admin) administer(ctx context.Context, do func(*pgx.Conn) error) error {
	connection, err := a.Open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(connection), connection.Close(ctx))
}

// run runs a statement that takes no parameters of its own: the server puts the two words into it, quoted.
func run(ctx context.Context, c *pgx.Conn, statement, name, word string) error {
	var quoted string
	if err := c.QueryRow(ctx, `SELECT format($1, $2::text, $3::text)`, statement, name, word).Scan(&quoted); err != nil {
		return err
	}
	_, err := c.Exec(ctx, quoted)
	return err
}
