package terdutapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// roundTrip answers in place of a server.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// FuzzAnswer gives any answer to calls of each sort. Each returns, with a value
// that is whole or an error, and the only words of the answer in an error are
// those that it allows: a printable, short message from which keys are taken.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		``, `null`, `[]`, `{}`, `[{"id":1,"name":"a"}]`, `{"id":1,"name":"a"}`, `{"error":"no"}`, `{"error":7}`, `{"id":"x"}`, `[null]`, `{"id":1`,
		`404 page not found`, `<html>`, `{"error":"` + canary + `"}`, `{"error":"a\u0000b\u202ec"}`, `{"levels":null}`, "\xff\xfe", `{"id":1e400}`,
		`{"error":"c0ffee00c0ffee00 c0ffee00c0ffee00c0ffee00c0ffee00"}`,
	} {
		for _, status := range []uint16{200, 404, 422, 503} {
			f.Add(status, jsonType, body, "3")
		}
		f.Add(uint16(404), "text/plain", body, "Mon, 30 Nov 2026 11:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, status uint16, media, body, header string) {
		code := 200 + int(status)%400
		answer := roundTrip(func(req *http.Request) (*http.Response, error) {
			return &http.Response{
				Status: "any words " + canary, StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
				Header: http.Header{"Content-Type": {media}, "Retry-After": {header}, "Link": {header}, "X-Total": {header}},
				Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
			}, nil
		})
		c := client(t, "https://terdut.example.com", terdutapi.WithAPIKey(canary), terdutapi.WithHTTPClient(&http.Client{Transport: answer}))
		ctx := context.Background()
		for name, call := range map[string]func() error{
			"object":  func() error { _, err := c.CreateTeam(ctx, "a"); return err },
			"array":   func() error { _, err := c.ListTeams(ctx); return err },
			"policy":  func() error { _, err := c.GetEscalation(ctx, 1); return err },
			"nothing": func() error { return c.DeleteTeam(ctx, 1) },
			"health":  func() error { return c.Health(ctx) },
		} {
			if err := call(); err != nil {
				ours(t, name, err, code)
			}
		}
	})
}

// ours wants an error to be of our own words, but for its message.
func ours(t *testing.T, call string, err error, status int) {
	t.Helper()
	var failure *terdutapi.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%s: an answer became %T: %v", call, err, err)
	}
	if failure.Status != status {
		t.Errorf("%s: status %d became %d", call, status, failure.Status)
	}
	said := failure.Message
	if utf8.RuneCountInString(said) > 200 || !utf8.ValidString(said) || strings.ContainsFunc(said, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%s: the message is not fit to be shown: %q", call, said)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("%s: the error shows the key", call)
	}
	// Without its message the error is the same for every answer of its sort.
	frame := strings.TrimSuffix(err.Error(), ": "+said)
	for _, word := range strings.Fields(frame) {
		if !known[strings.Trim(word, ":(),;")] && word != failure.Path+":" && word != "("+strconv.Itoa(status)+"):" && word != "("+strconv.Itoa(status)+")" {
			t.Errorf("%s: %q is not one of our words: %q", call, word, frame)
		}
	}
}

// known are the words that our errors are made of.
var known = words(`
	GET POST PUT DELETE not found the server does not have this route the key is not accepted forbidden conflict invalid request rate limited
	server is unavailable unexpected answer refused no answer unusable argument body larger than 1 MiB a redirect that followed JSON error of
	terdut-server part where whole it belongs page health content type application/json valid an id or another required value missing null list
	one longer element lacks its something else success empty has shape
`)

func words(text string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.Fields(text) {
		out[word] = true
	}
	return out
}
