package terdutapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Targets for errors.Is. Each error of a call matches exactly one of them, and besides that the cause of an
// [TransportError].
var (
	// ErrNotFound is a JSON 404: the server says that the object does not exist. Nothing else proves absence.
	ErrNotFound = errors.New("not found")
	// ErrRouteMissing is the plain-text 404 (or a 405) of a server that does not have this route.
	ErrRouteMissing = errors.New("the server does not have this route")
	// ErrUnauthorized is a JSON 401: the key is not accepted.
	ErrUnauthorized = errors.New("the key is not accepted")
	// ErrForbidden is a JSON 403: the key is good, but may not do this.
	ErrForbidden = errors.New("forbidden")
	// ErrConflict is a JSON 409, such as a name in use.
	ErrConflict = errors.New("conflict")
	// ErrInvalid is a JSON 400 or 422: the request must change before it can succeed.
	ErrInvalid = errors.New("invalid request")
	// ErrRateLimited is a 429; see Error.RetryAfter.
	ErrRateLimited = errors.New("rate limited")
	// ErrUnavailable is any 5xx; see Error.RetryAfter.
	ErrUnavailable = errors.New("the server is unavailable")
	// ErrUnexpectedAnswer is an answer that does not follow the API: a page where JSON belongs, truncated or
	// undecodable JSON, null where a list must be, a missing id, a body over MaxBody, a refused redirect.
	ErrUnexpectedAnswer = errors.New("unexpected answer")
	// ErrRefused is any other 4xx with a JSON error.
	ErrRefused = errors.New("refused")
	// ErrNoAnswer is a call that got no answer at all.
	ErrNoAnswer = errors.New("no answer")
	// ErrBadArgument is a call that was not sent because an argument cannot be meant, such as the id 0.
	ErrBadArgument = errors.New("unusable argument")
)

// Error is an answer other than the expected one. Its text holds the method, the path with its variable parts
// replaced, the status and Message; never a key, a URL's query or another byte of the answer.
type Error struct {
	// Method and Path name the operation, the path with {} in place of ids and keys.
	Method, Path string
	// Status is the HTTP status.
	Status int
	// Message is the `error` string of a JSON error: at most 200 characters, printable, what looks like a key
	// replaced. Empty where the answer was not such an error.
	Message string
	// RouteMissing tells the plain-text 404 of a missing route from the JSON 404 of a missing object.
	RouteMissing bool
	// RetryAfter is what the server asked to wait, at most an hour; 0 when it did not ask.
	RetryAfter time.Duration

	// unexpected says in our own words what was wrong with an answer that does not follow the API.
	unexpected string
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Method != "" {
		fmt.Fprintf(&b, "%s %s: ", e.Method, e.Path)
	}
	fmt.Fprintf(&b, "%v (%d)", e.kind(), e.Status)
	if e.unexpected != "" {
		b.WriteString(": " + e.unexpected)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

// Is makes errors.Is match the one target that fits.
func (e *Error) Is(target error) bool { return target == e.kind() }

func (e *Error) kind() error {
	switch {
	case e.unexpected != "":
		return ErrUnexpectedAnswer
	case e.RouteMissing:
		return ErrRouteMissing
	case e.Status >= 500:
		return ErrUnavailable
	}
	if kind, ok := kinds[e.Status]; ok {
		return kind
	}
	if e.Status >= 400 {
		return ErrRefused
	}
	return ErrUnexpectedAnswer
}

var kinds = map[int]error{
	http.StatusBadRequest:          ErrInvalid,
	http.StatusUnauthorized:        ErrUnauthorized,
	http.StatusForbidden:           ErrForbidden,
	http.StatusNotFound:            ErrNotFound,
	http.StatusConflict:            ErrConflict,
	http.StatusUnprocessableEntity: ErrInvalid,
	http.StatusTooManyRequests:     ErrRateLimited,
}

// TransportError is a call without an answer. It matches ErrNoAnswer and its own cause: a context error, a
// system error, or what the dialer refused.
type TransportError struct {
	// Method and Path name the operation, the path with {} in place of ids and keys.
	Method, Path string
	// Sent is false when no connection came about, so that the server cannot have seen the request. When it is
	// true the server may have acted on it.
	Sent bool

	cause error
}

// Error implements error.
func (e *TransportError) Error() string {
	return fmt.Sprintf("%s %s: %v: %v", e.Method, e.Path, ErrNoAnswer, e.cause)
}

// Is makes errors.Is match ErrNoAnswer.
func (e *TransportError) Is(target error) bool { return target == ErrNoAnswer }

// Unwrap gives the cause.
func (e *TransportError) Unwrap() error { return e.cause }
