package terdutapi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

func TestBaseURL(t *testing.T) {
	for _, bad := range []string{
		"", "terdut.example.com", "ftp://h", "https://", "https://user:canary@h", "https://h/?key=canary",
		"https://h/#canary", "https://h:canary/", "https://h/?", "http://[canary",
	} {
		_, err := terdutapi.New(bad)
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("New(%q) = %v", bad, err)
		}
	}
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		http.NotFound(w, r)
	}))
	defer server.Close()
	for _, base := range []string{"/prefix", "/prefix/"} {
		_, err := client(t, server.URL+base).ListIntegrations(context.Background(), 7)
		if path != "/prefix/api/teams/7/integrations" {
			t.Errorf("asked %s", path)
		}
		var failure *terdutapi.Error
		if !errors.As(err, &failure) || failure.Path != "/api/teams/{}/integrations" {
			t.Errorf("error names %q", failure.Path)
		}
	}
}

func TestOnlyAnHTTPClientCanBeGiven(t *testing.T) {
	if _, err := terdutapi.New("http://h", terdutapi.WithHTTPClient(doer{})); err == nil {
		t.Error("a client that follows its own rules was accepted")
	}
}

type doer struct{}

func (doer) Do(*http.Request) (*http.Response, error) { return nil, errors.New("never called") }

func TestKeyIsReadForEachRequestAndKeptFromPublicRoutes(t *testing.T) {
	var seen atomic.Value
	key := "first"
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("Authorization") + "|" + r.UserAgent())
		http.NotFound(w, r)
	}, terdutapi.WithKey(func() string { return key }), terdutapi.WithUserAgent("test/1"))
	ctx := context.Background()
	ask := func(want string, call func() error) {
		t.Helper()
		if err := call(); err == nil {
			t.Error("no error")
		}
		if got := seen.Load(); got != want {
			t.Errorf("server saw %v, want %s", got, want)
		}
	}
	list := func() error { _, err := c.ListTeams(ctx); return err }
	ask("Bearer first|test/1", list)
	key = "second"
	ask("Bearer second|test/1", list)
	ask("|test/1", func() error { return c.Health(ctx) })
	ask("|test/1", func() error { _, err := c.Bootstrap(ctx, terdutapi.BootstrapRequest{}); return err })
	ask("|test/1", func() error { return c.SendAlerts(ctx, "k", terdutapi.AlertmanagerWebhook{}) })
	key = ""
	ask("|test/1", list)
	seen.Store("nothing")
	for _, unusable := range []string{"can\nary", "can ary", "canäry", "canary\x00"} {
		key = unusable
		err := list()
		if !errors.Is(err, terdutapi.ErrUnusableKey) || strings.Contains(err.Error(), "ary") || seen.Load() != "nothing" {
			t.Errorf("key %q: %v", unusable, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		leaked.Store(true)
		w.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(w, `[]`)
	}))
	defer elsewhere.Close()
	var target string
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			w.Header().Set("Content-Type", jsonType)
			_, _ = io.WriteString(w, `[]`)
			return
		}
		http.Redirect(w, r, target, http.StatusFound)
	}, terdutapi.WithAPIKey("canary"))
	ctx := context.Background()

	for _, target = range []string{
		elsewhere.URL + "/?token=secret", strings.Replace(elsewhere.URL, "http:", "https:", 1),
		strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1), "/loop",
	} {
		_, err := c.ListTeams(ctx)
		only(t, err, terdutapi.ErrUnexpectedAnswer)
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "canary") {
			t.Errorf("error shows the redirect: %v", err)
		}
	}
	target = "/moved"
	if _, err := c.ListTeams(ctx); err != nil {
		t.Errorf("a read was not followed to the same server: %v", err)
	}
	if _, err := c.CreateTeam(ctx, "a"); !errors.Is(err, terdutapi.ErrUnexpectedAnswer) {
		t.Errorf("a write was followed: %v", err)
	}
	if leaked.Load() {
		t.Error("another server was asked")
	}
}

func TestNoAnswer(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hang.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	drop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer drop.Close()
	refused := errors.New("this address is refused")
	guarded := terdutapi.WithHTTPClient(&http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{
		Control: func(string, string, syscall.RawConn) error { return refused },
	}).DialContext}})

	cases := map[string]struct {
		url    string
		option terdutapi.ClientOption
		sent   bool
		cause  error
	}{
		"nobody listens":   {closed.URL, nil, false, syscall.ECONNREFUSED},
		"refused by us":    {hang.URL, guarded, false, refused},
		"not trusted":      {secure.URL, nil, false, nil},
		"no TLS":           {strings.Replace(drop.URL, "http:", "https:", 1), nil, false, nil},
		"dropped":          {drop.URL, nil, true, nil},
		"too slow":         {hang.URL, terdutapi.WithHTTPClient(&http.Client{Timeout: 50 * time.Millisecond}), true, context.DeadlineExceeded},
		"garbage":          {raw(t, "canary canary\r\n\r\n"), nil, true, nil},
		"garbage header":   {raw(t, "HTTP/1.1 200 OK\r\ncanary\r\n\r\n"), nil, true, nil},
		"garbage status":   {raw(t, "HTTP/1.1 canary OK\r\n\r\n"), nil, true, nil},
		"garbage location": {raw(t, "HTTP/1.1 302 Found\r\nLocation: http://canary%zz\r\n\r\n"), nil, true, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			opts := []terdutapi.ClientOption{terdutapi.WithAPIKey("canary")}
			if c.option != nil {
				opts = append(opts, c.option)
			}
			_, err := client(t, c.url, opts...).ListServiceAccounts(context.Background())
			only(t, err, terdutapi.ErrNoAnswer)
			var failure *terdutapi.TransportError
			if !errors.As(err, &failure) || failure.Sent != c.sent {
				t.Errorf("error %#v, want Sent %v", failure, c.sent)
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("error %v is not %v", err, c.cause)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "://") {
				t.Errorf("error shows too much: %v", err)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := client(t, hang.URL).Health(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
}

// raw serves these bytes to whoever connects.
func raw(t *testing.T, bytes string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, acceptErr := listener.Accept()
			if acceptErr != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, bytes)
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

func TestTruncated(t *testing.T) {
	c := client(t, raw(t, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[]"))
	_, err := c.ListTeams(context.Background())
	only(t, err, terdutapi.ErrUnexpectedAnswer)
}

func TestUnusableArgumentsAreNotSent(t *testing.T) {
	c := serving(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	ctx := context.Background()
	only(t, c.DeleteTeam(ctx, 0), terdutapi.ErrBadArgument)
	only(t, c.DeleteIntegration(ctx, 1, -4), terdutapi.ErrBadArgument)
	_, err := c.FindServiceAccount(ctx, "")
	only(t, err, terdutapi.ErrBadArgument)
	for _, key := range []string{"", ".", ".."} {
		only(t, c.SendAlerts(ctx, key, terdutapi.AlertmanagerWebhook{}), terdutapi.ErrBadArgument)
	}
}

func TestNamesAreOneSegment(t *testing.T) {
	var asked string
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath() + "?" + r.URL.RawQuery
		w.Header().Set("Content-Type", jsonType)
		_, _ = io.WriteString(w, `[]`)
	})
	ctx := context.Background()
	if err := c.SendAlerts(ctx, "../../users?x#y", terdutapi.AlertmanagerWebhook{}); err != nil {
		t.Fatal(err)
	}
	if asked != "/api/webhooks/alertmanager/..%2F..%2Fusers%3Fx%23y?" {
		t.Errorf("asked %s", asked)
	}
	if found, err := c.FindServiceAccount(ctx, "a&b=c/../d"); found != nil || err != nil {
		t.Errorf("FindServiceAccount() = %v, %v", found, err)
	}
	if asked != "/api/service-accounts?name=a%26b%3Dc%2F..%2Fd" {
		t.Errorf("asked %s", asked)
	}
}
