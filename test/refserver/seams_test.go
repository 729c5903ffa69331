package refserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

func TestUnknownRoutesArePlainText(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/", "/api", "/api/teams/", "/api/nothing", "/api/teams/1/nothing"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, http.NoBody)
		w.must(err)
		resp, err := http.DefaultClient.Do(req)
		w.must(err)
		body, err := io.ReadAll(resp.Body)
		w.must(errors.Join(err, resp.Body.Close()))
		if resp.StatusCode != 404 || string(body) != "404 page not found\n" ||
			!strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %q", path, resp.StatusCode, body)
		}
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	w := newWorld(t)
	w.server.ResetRequests()
	team := w.team("a")
	_, err := w.client("wrong").RenameTeam(ctx, team.ID, "b")
	w.refused(err, terdutapi.ErrUnauthorized, "")
	_, err = w.admin.CreateTeam(ctx, "a")
	w.refused(err, terdutapi.ErrConflict, "")
	want := []refserver.Request{
		{Method: "POST", Path: "/api/teams", Actor: "root", Status: 201, Handled: 201, At: start},
		{Method: "PUT", Path: "/api/teams/{teamID}", Status: 401, Handled: 401, At: start},
		{Method: "POST", Path: "/api/teams", Actor: "root", Status: 409, Handled: 409, At: start},
	}
	got := w.server.Requests()
	if len(got) != len(want) {
		t.Fatalf("requests are %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("request %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestFaults(t *testing.T) {
	w := newWorld(t)
	cases := map[string]struct {
		fault   refserver.Fault
		want    error
		reached bool
	}{
		"page":      {refserver.Answer(200, "text/html", "<html>"), terdutapi.ErrUnexpectedAnswer, false},
		"500":       {refserver.JSONError(500, "broken"), terdutapi.ErrUnavailable, false},
		"429":       {refserver.TooMany(time.Minute), terdutapi.ErrRateLimited, false},
		"drop":      {refserver.Drop, terdutapi.ErrNoAnswer, false},
		"lost":      {refserver.LoseAnswer, terdutapi.ErrNoAnswer, true},
		"truncated": {refserver.Truncate, terdutapi.ErrUnexpectedAnswer, true},
		"twice":     {refserver.Twice, nil, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := len(w.server.Teams())
			w.server.SetFault(func(_ *http.Request, route string) refserver.Fault {
				if route == "POST /api/teams" {
					return c.fault
				}
				return nil
			})
			_, err := w.admin.CreateTeam(ctx, name)
			w.server.SetFault(nil)
			if c.want == nil {
				w.must(err)
			} else {
				w.refused(err, c.want, "")
			}
			if reached := len(w.server.Teams()) == before+1; reached != c.reached {
				t.Errorf("reached the server: %v", reached)
			}
		})
	}
}

func TestHangAndLatencyEndWithTheCaller(t *testing.T) {
	w := newWorld(t)
	impatient, err := terdutapi.New(w.url, terdutapi.WithAPIKey(w.key),
		terdutapi.WithHTTPClient(&http.Client{Timeout: 50 * time.Millisecond}))
	w.must(err)
	w.server.SetFault(func(*http.Request, string) refserver.Fault { return refserver.Hang })
	_, err = impatient.ListTeams(ctx)
	w.refused(err, terdutapi.ErrNoAnswer, "")
	w.server.SetFault(nil)
	w.server.SetLatency(time.Hour)
	_, err = impatient.ListTeams(ctx)
	w.refused(err, terdutapi.ErrNoAnswer, "")
}

func TestTrafficIsComparedWithTheDocument(t *testing.T) {
	server, err := refserver.New(refserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, server: server, url: serve(t, server)}
	_, key, err := server.AddUser("root", true)
	w.must(err)
	for body, want := range map[string]string{
		`{}`:                    `/name breaks "required": property "name" is missing`,
		`{"name":5}`:            `/name breaks "type"`,
		`{"name":"a","x":"ok"}`: "",
	} {
		req, reqErr := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/api/teams", strings.NewReader(body))
		w.must(reqErr)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+key)
		resp, doErr := http.DefaultClient.Do(req)
		w.must(doErr)
		var failure terdutapi.ErrorBody
		w.must(errors.Join(json.NewDecoder(resp.Body).Decode(&failure), resp.Body.Close()))
		if want == "" && resp.StatusCode != 201 || want != "" && (resp.StatusCode != 400 || !strings.Contains(failure.Error, want)) {
			t.Errorf("%s: %d %q", body, resp.StatusCode, failure.Error)
		}
	}
	if got := server.Violations(); len(got) != 2 || !strings.HasPrefix(got[0], "POST /api/teams: request violates") {
		t.Errorf("violations are %v", got)
	}
}

// memory is a store that keeps one state.
type memory struct {
	state    []byte
	revision int
	err      error
}

// Load implements model.Store.
func (m *memory) Load(context.Context, string) (model.Snapshot, error) {
	return model.Snapshot{Revision: strconv.Itoa(m.revision), State: m.state}, m.err
}

// Update implements model.Store.
func (m *memory) Update(_ context.Context, change func([]byte) ([]byte, error)) (string, error) {
	state, err := change(m.state)
	if err = errors.Join(err, m.err); err != nil {
		return "", err
	}
	m.state, m.revision = state, m.revision+1
	return strconv.Itoa(m.revision), nil
}

// Ping implements model.Store.
func (m *memory) Ping(context.Context) error { return m.err }

func TestStateSurvivesInAStore(t *testing.T) {
	store := &memory{}
	keep := func(o *refserver.Options) { o.Store = store }
	w := newWorld(t, keep)
	team := w.team("a")
	key := w.source(team.ID)
	store.err = errors.New("disk full")
	_, err := w.admin.CreateTeam(ctx, "lost")
	w.refused(err, terdutapi.ErrUnavailable, "internal error")
	w.refused(w.admin.Health(ctx), terdutapi.ErrUnavailable, "the database does not answer")
	store.err = nil
	w.must(w.admin.Health(ctx))

	again := freshWorld(t, keep)
	if got := again.server.Teams(); len(got) != 1 || got[0].Name != "a" || again.server.IntegrationID(key) == 0 {
		t.Errorf("teams are %+v", got)
	}
	_, err = again.client(w.key).CreateTeam(ctx, "b")
	w.must(err)
	if strings.Contains(string(store.state), w.key) || strings.Contains(string(store.state), key) {
		t.Error("a key is kept in the clear")
	}
}
