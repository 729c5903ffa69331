package database

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// failure shows an error of the driver as one line.
type failure struct {
	text string
	err  error
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// Unwrap gives the driver's error.
func (f *failure) Unwrap() error { return f.err }

// line makes one line of an error. Of what the database says only the message is shown: details may quote data. A DSN that
// cannot be read is not repeated.
func line(err error) error {
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) && parse.Unwrap() != nil {
		err = parse.Unwrap()
	}
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return &failure{text: fmt.Sprintf("%s (SQLSTATE %s)", said.Message, said.Code), err: err}
	}
	return &failure{text: strings.Join(strings.Fields(err.Error()), " "), err: err}
}
