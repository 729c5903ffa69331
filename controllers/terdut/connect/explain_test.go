package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// wire answers every request in one way.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// client is a client that has only this wire.
func (w wire) client(t *testing.T) *terdutapi.Client {
	t.Helper()
	api, err := terdutapi.New("http://terdut.platform.svc:8080", terdutapi.WithAPIKey(strings.Repeat("a", 64)),
		terdutapi.WithHTTPClient(&http.Client{Transport: w}))
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func answer(status int, contentType, body string) wire {
	return func(r *http.Request) (*http.Response, error) {
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", contentType)
		if status == http.StatusTooManyRequests {
			rec.Header().Set("Retry-After", "7")
		}
		rec.WriteHeader(status)
		_, err := io.WriteString(rec, body)
		resp := rec.Result()
		resp.Request = r
		return resp, err
	}
}

func said(status int, text string) wire {
	return answer(status, "application/json", fmt.Sprintf(`{"error":%q}`, text))
}

// fails fails with an error whose text differs from try to try.
func fails(make func(port int) error) wire {
	port := 40000
	return func(*http.Request) (*http.Response, error) {
		port++
		return nil, make(port)
	}
}

func dial(port int, err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: port},
		Addr: &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 8080}, Err: err}
}

var address = regexp.MustCompile(`\d+\.\d+\.\d+\.\d+|:\d{2,}`)

func TestExplain(t *testing.T) {
	const synced = v1alpha1.ConditionSynced
	for _, c := range []struct {
		name    string
		wire    wire
		status  metav1.ConditionStatus
		reason  string
		message string
		stalled bool
		is      error
	}{
		{"404 for all teams", said(404, "not found"), metav1.ConditionUnknown, v1alpha1.ReasonUnexpectedAnswer, "(404) does not follow the API", false, terdutapi.ErrNotFound},
		{"plain 404", answer(404, "text/plain", "404 page not found"), metav1.ConditionUnknown, v1alpha1.ReasonRouteMissing, "is not there", false, terdutapi.ErrRouteMissing},
		{"404 of a proxy", answer(404, "text/html", "<h1>secret</h1>"), metav1.ConditionUnknown, v1alpha1.ReasonUnexpectedAnswer, "(404) does not follow the API", false, terdutapi.ErrUnexpectedAnswer},
		{"409", said(409, "exists"), metav1.ConditionFalse, v1alpha1.ReasonNameConflict, "in use on the server: exists", true, remote.ErrConflict},
		{"422", said(422, "bad name"), metav1.ConditionFalse, v1alpha1.ReasonInvalid, "does not accept it: bad name", true, terdutapi.ErrInvalid},
		{"400", said(400, "bad"), metav1.ConditionFalse, v1alpha1.ReasonInvalid, "does not accept it: bad", true, terdutapi.ErrInvalid},
		{"401", said(401, "secret"), metav1.ConditionUnknown, v1alpha1.ReasonCredentialRejected, "does not accept the operator's key (401)", false, terdutapi.ErrUnauthorized},
		{"403", said(403, "secret"), metav1.ConditionUnknown, v1alpha1.ReasonCredentialRejected, "does not accept the operator's key (403)", false, terdutapi.ErrForbidden},
		{"418", said(418, "tea"), metav1.ConditionFalse, v1alpha1.ReasonRequestRefused, "the server refuses: tea", false, terdutapi.ErrRefused},
		{"429", said(429, "secret"), metav1.ConditionUnknown, v1alpha1.ReasonRateLimited, "asks for a pause", false, terdutapi.ErrRateLimited},
		{"500", said(500, "secret"), metav1.ConditionUnknown, v1alpha1.ReasonServerUnreachable, "unavailable (500)", false, terdutapi.ErrUnavailable},
		{"page", answer(200, "text/html", "<h1>secret</h1>"), metav1.ConditionUnknown, v1alpha1.ReasonUnexpectedAnswer, "(200) does not follow", false, terdutapi.ErrUnexpectedAnswer},
		{"null", answer(200, "application/json", "null"), metav1.ConditionUnknown, v1alpha1.ReasonUnexpectedAnswer, "does not follow", false, terdutapi.ErrUnexpectedAnswer},
		{"refused connection", fails(func(p int) error { return dial(p, syscall.ECONNREFUSED) }), metav1.ConditionUnknown, v1alpha1.ReasonServerUnreachable, "(connection refused)", false, terdutapi.ErrNoAnswer},
		{"reset", fails(func(p int) error { return dial(p, syscall.ECONNRESET) }), metav1.ConditionUnknown, v1alpha1.ReasonServerUnreachable, "(connection failed)", false, terdutapi.ErrNoAnswer},
		{"no name", fails(func(p int) error {
			return dial(p, &net.DNSError{Err: "no such host", Name: "x", Server: fmt.Sprint("10.0.0.10:", p)})
		}), metav1.ConditionUnknown, v1alpha1.ReasonServerUnreachable, "(its name cannot be resolved)", false, terdutapi.ErrNoAnswer},
		{"time-out", fails(func(p int) error { return dial(p, context.DeadlineExceeded) }), metav1.ConditionUnknown, v1alpha1.ReasonServerUnreachable, "(time-out)", false, terdutapi.ErrNoAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := c.wire.client(t)
			first, again := explained(t, api), explained(t, api)
			if first.Condition != synced || first.Status != c.status || first.Reason != c.reason || first.Stalled != c.stalled || !errors.Is(first, c.is) {
				t.Errorf("ended in %+v", first)
			}
			if !strings.HasPrefix(first.Message, "list teams: ") || !strings.Contains(first.Message, c.message) {
				t.Errorf("says %q", first.Message)
			}
			if first.Message != again.Message {
				t.Errorf("says %q, then %q", first.Message, again.Message)
			}
			if c.reason == v1alpha1.ReasonRateLimited && first.After != 7*time.Second {
				t.Errorf("waits %v", first.After)
			}
		})
	}
}

// explained is the ending of one call, which shows nothing that it must not.
func explained(t *testing.T, api *terdutapi.Client) *outcome.Ending {
	t.Helper()
	_, err := api.ListTeams(context.Background())
	ending, ok := outcome.As(Explain(err, v1alpha1.ConditionSynced, "list teams"))
	if !ok {
		t.Fatalf("no ending: %v", err)
	}
	if strings.Contains(ending.Message, "secret") || address.MatchString(ending.Message) {
		t.Errorf("shows what it must not: %q", ending.Message)
	}
	return ending
}

// Only the 404 for one object proves that it is absent.
func TestExplainAbsence(t *testing.T) {
	api := said(404, "not found").client(t)
	_, list := api.ListTeams(context.Background())
	for doing, c := range map[string]struct {
		err  error
		want bool
	}{
		"delete team 7":         {api.DeleteTeam(context.Background(), 7), true},
		"delete a switch":       {api.DeleteDeadmanSwitch(context.Background(), 7, 9), true},
		"list teams":            {list, false},
		"delete by a 404 page":  {answer(404, "text/html", "<h1>404</h1>").client(t).DeleteTeam(context.Background(), 7), false},
		"delete without route":  {answer(404, "text/plain", "404 page not found").client(t).DeleteTeam(context.Background(), 7), false},
		"delete by another 404": {answer(404, "application/json", `{"code":404}`).client(t).DeleteTeam(context.Background(), 7), false},
	} {
		explained := Explain(c.err, v1alpha1.ConditionSynced, doing)
		if got := errors.Is(explained, remote.ErrAbsent); got != c.want {
			t.Errorf("%s: absence is proved: %v, by %v", doing, got, explained)
		}
	}
}

// A server that puts the mark of the request into its words says the same
// again.
func TestExplainIsSteady(t *testing.T) {
	for _, status := range []int{400, 404, 409, 418, 422} {
		try := 0
		api := wire(func(r *http.Request) (*http.Response, error) {
			try++
			return said(status, fmt.Sprintf("no such label (request_id: %d-%x) from 10.1.2.3:%d after %d.5ms", try, try*7919, 40000+try, try))(r)
		}).client(t)
		text := func() string {
			ending, _ := outcome.As(Explain(api.DeleteTeam(context.Background(), 7), v1alpha1.ConditionSynced, "delete team 7"))
			return ending.Message
		}
		if first, again := text(), text(); first != again || !strings.Contains(first, "no such label") {
			t.Errorf("%d: says %q, then %q", status, first, again)
		}
	}
}

func TestExplainLeavesTheRest(t *testing.T) {
	if Explain(nil, "C", "do") != nil {
		t.Error("nil is no error")
	}
	ending := outcome.Waiting("C", "R", "m")
	if got := Explain(ending, "D", "do"); !errors.Is(got, ending) {
		t.Errorf("an ending became %v", got)
	}
	other := errors.New("other")
	if got := Explain(other, "C", "do"); !errors.Is(got, other) || got.Error() != "do: other" {
		t.Errorf("another error became %v", got)
	}
}
