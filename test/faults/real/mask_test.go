package real

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// server answers everything with one body, and keeps what it was asked.
type server struct {
	body       string
	path, sent string
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.path = req.URL.Path
	if req.Body != nil {
		raw, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		s.sent = string(raw)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(s.body))}, nil
}

func ask(t *testing.T, s *server, method, target, body string) string {
	t.Helper()
	resp, err := (&mask{suffix: "-run00007", next: s}).RoundTrip(httptest.NewRequest(method, target, bytes.NewBufferString(body)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if closing := resp.Body.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
	return string(raw)
}

const (
	ours   = `{"metadata":{"name":"db","namespace":"payments-run00007"}}`
	theirs = `{"metadata":{"name":"db","namespace":"payments-run00008"}}`
	plain0 = `{"metadata":{"name":"db","namespace":"payments"}}`
)

func TestAListShowsOneRun(t *testing.T) {
	s := &server{body: `{"items":[` + theirs + `,` + ours + `]}`}
	if got := ask(t, s, http.MethodGet, "/api/v1/secrets", ""); got != `{"items":[`+plain0+`]}` {
		t.Error(got)
	}
}

func TestAWatchShowsOneRun(t *testing.T) {
	bookmark := `{"type":"BOOKMARK","object":{}}` + "\n"
	s := &server{body: `{"type":"ADDED","object":` + theirs + "}\n" + `{"type":"ADDED","object":` + ours + "}\n" + bookmark}
	want := `{"type":"ADDED","object":` + plain0 + "}\n" + bookmark
	if got := ask(t, s, http.MethodGet, "/api/v1/secrets?watch=true", ""); got != want {
		t.Error(got)
	}
}

func TestAWriteSaysWhereItBelongs(t *testing.T) {
	s := &server{body: ours}
	if got := ask(t, s, http.MethodPatch, "/api/v1/namespaces/payments/secrets/db", plain0); got != plain0 || s.sent != ours {
		t.Errorf("sent %s, got %s", s.sent, got)
	}
	s = &server{body: ours}
	ask(t, s, http.MethodPatch, "/api/v1/namespaces/payments/secrets/db", `[{"op":"add","path":"/data/key","value":"a2V5"}]`)
	if s.sent != `[{"op":"add","path":"/data/key","value":"a2V5"}]` {
		t.Error(s.sent)
	}
	s = &server{body: `{}`}
	ask(t, s, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"payments"}}`)
	if s.sent != `{"metadata":{"name":"payments-run00007"}}` {
		t.Error(s.sent)
	}
}
