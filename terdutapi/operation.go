package terdutapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// words are the fixed segments of the API's paths; a test compares them with the OpenAPI document. Every other
// segment is an id or a key and is shown as {}.
var words = map[string]bool{
	"healthz": true, "api": true, "version": true, "bootstrap": true, "me": true, "users": true, "notify": true,
	"password": true, "api-keys": true, "service-accounts": true, "keys": true, "teams": true,
	"oidc-groups": true, "escalation": true, "deadman-switches": true, "integrations": true, "webhooks": true,
	"alertmanager": true, "alerts": true, "incidents": true, "timeline": true, "acknowledge": true,
	"resolve": true, "assign": true, "snooze": true, "archive": true, "notes": true, "schedule": true,
	"current": true, "stats": true, "top": true, "by-hour": true, "by-day": true,
}

const (
	pathHealth    = "/healthz"
	pathBootstrap = "/api/bootstrap"
	pathWebhook   = "/api/webhooks/alertmanager/{}"
)

// operation names a call in errors.
type operation struct{ method, path string }

// operationOf reduces a request to method and path template. An id that no server hands out is refused: a 404
// for it would read as "the object is gone".
func operationOf(req *http.Request, prefix string) (operation, error) {
	segments := strings.Split(strings.TrimPrefix(req.URL.EscapedPath(), prefix), "/")
	var bad error
	for i, segment := range segments {
		if segment == "" || words[segment] {
			continue
		}
		if id, err := strconv.ParseInt(segment, 10, 64); err == nil && id <= 0 {
			bad = fmt.Errorf("%w: the id %d is none of the server's", ErrBadArgument, id)
		}
		segments[i] = "{}"
	}
	op := operation{method: req.Method, path: strings.Join(segments, "/")}
	if bad != nil {
		return op, fmt.Errorf("%s %s: %w", op.method, op.path, bad)
	}
	return op, nil
}

// public reports whether the operation needs no key; then none is sent.
func (o operation) public() bool {
	return o.path == pathHealth || o.path == pathBootstrap || o.path == pathWebhook
}

func (o operation) fail(status int, what string) *Error {
	return &Error{Method: o.method, Path: o.path, Status: status, unexpected: what}
}
