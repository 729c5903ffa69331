package refserver_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

var (
	ctx   = context.Background()
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// world is a server over real HTTP, with a clock and a pager that the test holds.
type world struct {
	*testing.T
	server *refserver.Server
	url    string
	now    time.Time
	pages  pager
	admin  *terdutapi.Client
	key    string
}

// newWorld starts a server and bootstraps it. After the test no traffic may have violated the document.
func newWorld(t *testing.T, change ...func(*refserver.Options)) *world {
	t.Helper()
	w := freshWorld(t, change...)
	first, err := w.client("").Bootstrap(ctx, terdutapi.BootstrapRequest{Username: "root", Email: "root@example.com"})
	w.must(err)
	w.key = first.Key
	w.admin = w.client(first.Key)
	return w
}

func freshWorld(t *testing.T, change ...func(*refserver.Options)) *world {
	t.Helper()
	w := &world{T: t, now: start}
	options := refserver.Options{Clock: func() time.Time { return w.now }, Notifier: &w.pages}
	for _, f := range change {
		f(&options)
	}
	server, err := refserver.New(options)
	w.must(err)
	web := httptest.NewServer(server)
	w.server, w.url = server, web.URL
	t.Cleanup(func() {
		web.Close()
		for _, violation := range server.Violations() {
			t.Errorf("violation: %s", violation)
		}
	})
	return w
}

func (w *world) client(key string) *terdutapi.Client {
	w.Helper()
	c, err := terdutapi.New(w.url, terdutapi.WithAPIKey(key))
	w.must(err)
	return c
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// refused fails unless err is want, and its message is message where one is given.
func (w *world) refused(err, want error, message string) {
	w.Helper()
	var failure *terdutapi.Error
	if !errors.Is(err, want) || message != "" && (!errors.As(err, &failure) || failure.Message != message) {
		w.Errorf("got %v, want %v %q", err, want, message)
	}
}

// pass moves the clock and does what is due.
func (w *world) pass(d time.Duration) {
	w.Helper()
	w.now = w.now.Add(d)
	w.must(w.server.Tick(w.now))
}

func (w *world) team(name string) *terdutapi.Team {
	w.Helper()
	team, err := w.admin.CreateTeam(ctx, name)
	w.must(err)
	return team
}

func (w *world) source(teamID int64) string {
	w.Helper()
	created, err := w.admin.CreateIntegration(ctx, teamID,
		terdutapi.CreateIntegrationRequest{Kind: terdutapi.KindAlertmanager, Name: "prod"})
	w.must(err)
	return created.Key
}

// send posts one alert of a group.
func (w *world) send(key, group string, status terdutapi.AlertStatus, labels map[string]string) {
	w.Helper()
	w.must(w.admin.SendAlerts(ctx, key, terdutapi.AlertmanagerWebhook{
		Version: "4", GroupKey: group, Status: status,
		Alerts: []terdutapi.AlertmanagerAlert{{Status: status, Labels: labels, StartsAt: w.now}},
	}))
}

func (w *world) user(name, topic string) *terdutapi.User {
	w.Helper()
	user, err := w.admin.CreateUser(ctx, name, name+"@example.com")
	w.must(err)
	w.must(w.admin.SetUserNotify(ctx, user.ID, topic))
	return user
}

// incident returns the newest one.
func (w *world) incident() terdutapi.Incident {
	w.Helper()
	incidents, err := w.admin.ListIncidents(ctx, nil)
	w.must(err)
	if len(incidents) == 0 {
		w.Fatal("there is no incident")
	}
	return incidents[0]
}

func (w *world) timeline(id int64) map[string]int {
	w.Helper()
	events, err := w.admin.GetIncidentTimeline(ctx, id)
	w.must(err)
	counts := map[string]int{}
	for _, event := range events {
		counts[event.Type]++
	}
	return counts
}

// pager keeps the topics that were paged.
type pager struct {
	mu     sync.Mutex
	topics []string
	fail   error
}

// Notify implements refserver.Notifier.
func (p *pager) Notify(_ context.Context, page model.Page) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics = append(p.topics, page.Topic)
	return p.fail
}

// take returns the topics since the last call.
func (p *pager) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	topics := p.topics
	p.topics = nil
	return topics
}

func serve(t *testing.T, server *refserver.Server) string {
	t.Helper()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	return web.URL
}
