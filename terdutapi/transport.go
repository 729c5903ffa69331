package terdutapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
)

// guard is the transport under every method: it sends, bounds and checks.
type guard struct {
	http   *http.Client
	prefix string // path of the base URL, without a trailing slash
}

// answer is the body of a checked success.
type answer struct {
	*bytes.Reader
	op operation
}

func (*answer) Close() error { return nil }

// Do sends the request. It returns a response only for a success that follows the API, its body read whole.
func (g *guard) Do(req *http.Request) (*http.Response, error) {
	op, err := operationOf(req, g.prefix)
	if err != nil {
		return nil, err
	}
	if op.public() {
		req.Header.Del("Authorization")
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", DefaultUserAgent)
	}
	req.Header.Set("Accept", "application/json")
	key := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")

	resp, err := g.http.Do(req)
	if err != nil {
		return nil, transportError(op, err)
	}
	body, readErr := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	closeErr := resp.Body.Close()
	if readErr != nil && resp.StatusCode < 300 {
		if errors.Is(readErr, io.ErrUnexpectedEOF) {
			return nil, op.fail(resp.StatusCode, "the body is truncated")
		}
		return nil, transportError(op, readErr)
	}
	if closeErr != nil {
		return nil, transportError(op, closeErr)
	}
	if failure := check(op, resp, body, key); failure != nil {
		return nil, failure
	}
	resp.Body = &answer{Reader: bytes.NewReader(body), op: op}
	return resp, nil
}

// checkRedirect follows a redirect of a read to the same scheme, host and port, and no other: a credential
// never goes elsewhere, and a POST never turns into a GET. A redirect that is not followed is returned as the
// answer, so that no error text is made from its Location.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || first.Method != http.MethodGet || !sameOrigin(req.URL, first.URL) || req.URL.User != nil {
		return http.ErrUseLastResponse
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

var (
	// ErrCertificate is the cause of a call that was not made because the peer's certificate is not trusted.
	ErrCertificate = errors.New("no TLS connection: the peer's certificate is not trusted for this host")

	errTLS    = errors.New("no TLS connection: the peer speaks no TLS that we accept")
	errClosed = errors.New("the connection was closed before an answer came")
	errBroken = errors.New("the connection failed, or what answers is not HTTP")
)

// transportError reduces an error of net/http to a cause whose text is ours or the system's: net/http quotes
// URLs and what a peer sent.
func transportError(op operation, err error) *TransportError {
	failure := &TransportError{Method: op.method, Path: op.path, Sent: true}
	var (
		dial    *net.OpError
		errno   syscall.Errno
		cert    *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		timeout net.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		failure.cause = context.Canceled
	case errors.As(err, &dial) && dial.Op == "dial":
		failure.cause, failure.Sent = dial, false
	case errors.As(err, &cert):
		failure.cause, failure.Sent = ErrCertificate, false
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record), errors.As(err, &alert):
		failure.cause, failure.Sent = errTLS, false
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		failure.cause = context.DeadlineExceeded
	case errors.As(err, &errno):
		failure.cause = errno
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		failure.cause = errClosed
	default:
		failure.cause = errBroken
	}
	return failure
}
