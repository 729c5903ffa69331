package terdutapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

const jsonType = "application/json"

// answering returns a client of a server that gives every request this answer.
func answering(t *testing.T, status int, contentType, body string, headers ...string) *terdutapi.Client {
	t.Helper()
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header()["Content-Type"] = nil // no guessing
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func serving(t *testing.T, handler http.HandlerFunc, opts ...terdutapi.ClientOption) *terdutapi.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return client(t, server.URL, opts...)
}

func client(t *testing.T, url string, opts ...terdutapi.ClientOption) *terdutapi.Client {
	t.Helper()
	c, err := terdutapi.New(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// targets are all that errors.Is can be asked for.
var targets = []error{
	terdutapi.ErrNotFound, terdutapi.ErrRouteMissing, terdutapi.ErrUnauthorized, terdutapi.ErrForbidden,
	terdutapi.ErrConflict, terdutapi.ErrInvalid, terdutapi.ErrRateLimited, terdutapi.ErrUnavailable,
	terdutapi.ErrUnexpectedAnswer, terdutapi.ErrRefused, terdutapi.ErrNoAnswer, terdutapi.ErrBadArgument,
}

// only fails unless err matches want and no other target.
func only(t *testing.T, err, want error) {
	t.Helper()
	for _, target := range targets {
		if errors.Is(err, target) != errors.Is(target, want) {
			t.Errorf("error %v: errors.Is(%v) = %v", err, target, errors.Is(err, target))
		}
	}
}

func TestEveryAnswerHasOneMeaning(t *testing.T) {
	page := "<!doctype html><title>sign in</title>"
	cases := map[string]struct {
		status int
		media  string
		body   string
		want   error // nil: success
	}{
		"list":                     {200, jsonType, `[{"id":1,"name":"a"}]`, nil},
		"empty list":               {200, jsonType, `[]`, nil},
		"list with charset":        {200, "application/json; charset=utf-8", `[]`, nil},
		"unknown fields":           {200, jsonType, `[{"id":1,"name":"a","colour":"red"}]`, nil},
		"null for a list":          {200, jsonType, `null`, terdutapi.ErrUnexpectedAnswer},
		"null in a list":           {200, jsonType, `[null]`, terdutapi.ErrUnexpectedAnswer},
		"object for a list":        {200, jsonType, `{}`, terdutapi.ErrUnexpectedAnswer},
		"missing id":               {200, jsonType, `[{"name":"a"}]`, terdutapi.ErrUnexpectedAnswer},
		"negative id":              {200, jsonType, `[{"id":-1,"name":"a"}]`, terdutapi.ErrUnexpectedAnswer},
		"id of another type":       {200, jsonType, `[{"id":"1","name":"a"}]`, terdutapi.ErrUnexpectedAnswer},
		"bad time":                 {200, jsonType, `[{"id":1,"name":"a","created_at":"soon"}]`, terdutapi.ErrUnexpectedAnswer},
		"cut JSON":                 {200, jsonType, `[{"id":1,"na`, terdutapi.ErrUnexpectedAnswer},
		"two values":               {200, jsonType, `[] []`, terdutapi.ErrUnexpectedAnswer},
		"no body":                  {200, jsonType, ``, terdutapi.ErrUnexpectedAnswer},
		"nothing at all":           {204, "", ``, terdutapi.ErrUnexpectedAnswer},
		"page":                     {200, "text/html", page, terdutapi.ErrUnexpectedAnswer},
		"page said to be JSON":     {200, jsonType, page, terdutapi.ErrUnexpectedAnswer},
		"JSON said to be text":     {200, "text/plain", `[]`, terdutapi.ErrUnexpectedAnswer},
		"no content type":          {200, "", `[]`, terdutapi.ErrUnexpectedAnswer},
		"over the bound":           {200, jsonType, `["` + strings.Repeat("a", terdutapi.MaxBody) + `"]`, terdutapi.ErrUnexpectedAnswer},
		"object missing":           {404, jsonType, `{"error":"team not found"}`, terdutapi.ErrNotFound},
		"route missing":            {404, "text/plain; charset=utf-8", "404 page not found\n", terdutapi.ErrRouteMissing},
		"method missing":           {405, "text/plain; charset=utf-8", "Method Not Allowed\n", terdutapi.ErrRouteMissing},
		"method missing, silent":   {405, "", "", terdutapi.ErrRouteMissing},
		"404 page":                 {404, "text/html", page, terdutapi.ErrUnexpectedAnswer},
		"404 of a proxy":           {404, "text/plain", "default backend - 404", terdutapi.ErrUnexpectedAnswer},
		"404 of another API":       {404, jsonType, `{"kind":"Status","message":"not found"}`, terdutapi.ErrUnexpectedAnswer},
		"404 with an error object": {404, jsonType, `{"error":{"code":5}}`, terdutapi.ErrUnexpectedAnswer},
		"404 without body":         {404, "", "", terdutapi.ErrUnexpectedAnswer},
		"unauthorized":             {401, jsonType, `{"error":"invalid API key"}`, terdutapi.ErrUnauthorized},
		"401 of a proxy":           {401, "text/html", page, terdutapi.ErrUnexpectedAnswer},
		"forbidden":                {403, jsonType, `{"error":"admin only"}`, terdutapi.ErrForbidden},
		"403 of a proxy":           {403, "text/plain", "RBAC: access denied", terdutapi.ErrUnexpectedAnswer},
		"conflict":                 {409, jsonType, `{"error":"name taken"}`, terdutapi.ErrConflict},
		"bad request":              {400, jsonType, `{"error":"no"}`, terdutapi.ErrInvalid},
		"invalid":                  {422, jsonType, `{"error":"no"}`, terdutapi.ErrInvalid},
		"another refusal":          {410, jsonType, `{"error":"gone"}`, terdutapi.ErrRefused},
		"rate limited":             {429, jsonType, `{"error":"slow down"}`, terdutapi.ErrRateLimited},
		"rate limited by a proxy":  {429, "text/html", page, terdutapi.ErrRateLimited},
		"broken":                   {500, jsonType, `{"error":"internal error"}`, terdutapi.ErrUnavailable},
		"bad gateway":              {502, "text/html", page, terdutapi.ErrUnavailable},
		"unavailable":              {503, "", "", terdutapi.ErrUnavailable},
		"not modified":             {304, "", "", terdutapi.ErrUnexpectedAnswer},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			teams, err := answering(t, c.status, c.media, c.body).ListTeams(context.Background())
			if c.want == nil {
				if err != nil || teams == nil {
					t.Fatalf("ListTeams() = %v, %v", teams, err)
				}
				return
			}
			only(t, err, c.want)
			if teams != nil {
				t.Errorf("a failed call returned %v", teams)
			}
			var failure *terdutapi.Error
			if !errors.As(err, &failure) || failure.Status != c.status || failure.Path != "/api/teams" {
				t.Errorf("error is %#v, want one of status %d", failure, c.status)
			}
			if strings.Contains(err.Error(), "sign in") {
				t.Errorf("error shows the answer: %v", err)
			}
		})
	}
}

func TestIncompleteObjects(t *testing.T) {
	ctx := context.Background()
	calls := map[string]struct {
		body string
		call func(*terdutapi.Client) error
	}{
		"team without id":         {`{"name":"a"}`, func(c *terdutapi.Client) error { _, err := c.CreateTeam(ctx, "a"); return err }},
		"null for a team":         {`null`, func(c *terdutapi.Client) error { _, err := c.CreateTeam(ctx, "a"); return err }},
		"list for a team":         {`[]`, func(c *terdutapi.Client) error { _, err := c.RenameTeam(ctx, 1, "a"); return err }},
		"policy without levels":   {`{"repeat_count":1}`, func(c *terdutapi.Client) error { _, err := c.GetEscalation(ctx, 1); return err }},
		"policy with null levels": {`{"repeat_count":1,"levels":null}`, func(c *terdutapi.Client) error { _, err := c.GetEscalation(ctx, 1); return err }},
		"level with null targets": {`{"repeat_count":1,"levels":[{"timeout":"5m","targets":null}]}`, func(c *terdutapi.Client) error { _, err := c.GetEscalation(ctx, 1); return err }},
		"bootstrap without key":   {`{"user":{"id":1,"username":"a"}}`, func(c *terdutapi.Client) error { _, err := c.Bootstrap(ctx, terdutapi.BootstrapRequest{}); return err }},
		"integration without url": {`{"id":1,"name":"a","key":"k"}`, func(c *terdutapi.Client) error {
			_, err := c.CreateIntegration(ctx, 1, terdutapi.CreateIntegrationRequest{})
			return err
		}},
		"account without first key": {`{"id":1,"name":"a","key":{"id":2}}`, func(c *terdutapi.Client) error {
			_, err := c.CreateServiceAccount(ctx, terdutapi.CreateServiceAccountRequest{})
			return err
		}},
		"me without user":      {`{"has_password":true}`, func(c *terdutapi.Client) error { _, err := c.Me(ctx); return err }},
		"version without list": {`{"version":"v1"}`, func(c *terdutapi.Client) error { _, err := c.Version(ctx); return err }},
		"page for a deletion":  {`<html>`, func(c *terdutapi.Client) error { return c.DeleteTeam(ctx, 1) }},
	}
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			only(t, c.call(answering(t, 200, jsonType, c.body)), terdutapi.ErrUnexpectedAnswer)
		})
	}
}

func TestHealthTakesAnyBodyButAPage(t *testing.T) {
	ctx := context.Background()
	for _, body := range []string{"", "ok", `{"status":"ok"}`} {
		if err := answering(t, 200, "text/plain", body).Health(ctx); err != nil {
			t.Errorf("body %q: %v", body, err)
		}
	}
	only(t, answering(t, 200, "text/html", "<html>").Health(ctx), terdutapi.ErrUnexpectedAnswer)
	only(t, answering(t, 503, "text/plain", "starting").Health(ctx), terdutapi.ErrUnavailable)
}

func TestMessage(t *testing.T) {
	cases := map[string]struct{ sent, want string }{
		"as it is":        {`team not found`, "team not found"},
		"control":         {`a\u0000b\u001b[31mc\nd\u202ee`, "ab[31mcde"},
		"long":            {strings.Repeat("ä", 500), strings.Repeat("ä", 200)},
		"key across cut":  {strings.Repeat("x", 190) + strings.Repeat("ab", 32), strings.Repeat("x", 190) + "[key]"},
		"something keyed": {"bad key " + strings.Repeat("0F", 32), "bad key [key]"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := answering(t, 409, jsonType, `{"error":"`+c.sent+`"}`).ListTeams(context.Background())
			var failure *terdutapi.Error
			if !errors.As(err, &failure) || failure.Message != c.want {
				t.Errorf("error %v, want the message %q", err, c.want)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	date := time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)
	for value, want := range map[string][2]time.Duration{
		"7": {7 * time.Second, 7 * time.Second}, "": {}, "soon": {}, "-3": {}, date: {8 * time.Minute, 10 * time.Minute},
		"999999999": {time.Hour, time.Hour},
	} {
		_, err := answering(t, 503, jsonType, `{"error":"later"}`, "Retry-After", value).ListTeams(context.Background())
		var failure *terdutapi.Error
		if !errors.As(err, &failure) || failure.RetryAfter < want[0] || failure.RetryAfter > want[1] {
			t.Errorf("Retry-After %q gives %v", value, failure.RetryAfter)
		}
	}
}

func TestErrorsBuiltByFakes(t *testing.T) {
	only(t, &terdutapi.Error{Status: 404}, terdutapi.ErrNotFound)
	only(t, &terdutapi.Error{Status: 404, RouteMissing: true}, terdutapi.ErrRouteMissing)
	only(t, &terdutapi.Error{Status: 200}, terdutapi.ErrUnexpectedAnswer)
	only(t, &terdutapi.TransportError{}, terdutapi.ErrNoAnswer)
}
