package connect

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
)

// host is a server that is up or down, and counts.
type host struct {
	up                   atomic.Bool
	healthy              atomic.Bool
	inFlight, most, sent atomic.Int64
}

func (h *host) RoundTrip(r *http.Request) (*http.Response, error) {
	h.sent.Add(1)
	now := h.inFlight.Add(1)
	defer h.inFlight.Add(-1)
	for {
		most := h.most.Load()
		if now <= most || h.most.CompareAndSwap(most, now) {
			break
		}
	}
	switch {
	case !h.up.Load():
		return refusing().RoundTrip(r)
	case r.URL.Path == "/healthz":
		return answer(200, "text/plain", "ok").RoundTrip(r)
	case !h.healthy.Load():
		return said(500, "internal").RoundTrip(r)
	}
	return answer(200, "application/json", "[]").RoundTrip(r)
}

// credentials is a reader that knows one Secret.
type credentials struct{ client.Reader }

func (credentials) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if secret, ok := into.(*corev1.Secret); ok {
		secret.Data = map[string][]byte{v1alpha1.CredentialsKey: []byte("key")}
	}
	return nil
}

func hear(t *testing.T, heard <-chan event.GenericEvent, what string) {
	t.Helper()
	select {
	case e := <-heard:
		if e.Object.GetName() != "terdut" {
			t.Fatalf("%s: told of %s", what, e.Object.GetName())
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: nobody is told", what)
	}
}

// play is a server and the sessions with it.
type play struct {
	*host
	s      *Sessions
	server *v1alpha1.TerdutServer
	ahead  atomic.Int64
}

func newPlay() *play {
	p := &play{host: &host{}}
	p.s = New(Options{
		Transport: p.host, Reader: credentials{}, Limits: Limits{ProbePause: 20 * time.Millisecond},
		Clock: func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) },
	})
	p.server = &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut", UID: "uid"}}
	p.server.Status.OperatorCredentialsSecretRef = &v1alpha1.LocalRef{Name: "key"}
	return p
}

// glance looks at the snapshot of the teams and counts the requests for it.
func (p *play) glance(t *testing.T) int64 {
	t.Helper()
	begin := p.sent.Load()
	turn, err := p.s.For(context.Background(), p.server, "n")
	if err == nil {
		_, err = turn.Teams(context.Background(), remote.Snapshot)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.sent.Load() - begin
}

// crowd lets many passes write at once.
func (p *play) crowd() {
	var passes sync.WaitGroup
	for range 50 {
		passes.Go(func() {
			for range 20 {
				if own, err := p.s.For(context.Background(), p.server, "n"); err == nil {
					_, _ = own.CreateTeam(context.Background(), "a")
				}
			}
		})
	}
	passes.Wait()
}

// staysShut watches a few probes, while nothing else may pass.
func (p *play) staysShut(t *testing.T, why string) {
	t.Helper()
	p.most.Store(0)
	for begin := p.sent.Load(); p.sent.Load() < begin+6; {
		if _, err := p.s.For(context.Background(), p.server, "n"); err == nil || !p.s.Silent(p.server.UID) {
			t.Fatalf("%s: a pass is let through", why)
		}
	}
	if most := p.most.Load(); most != 1 {
		t.Errorf("%s: %d probes at once", why, most)
	}
}

// TestOutage plays a whole one: it is the server's news at once and everybody's
// after two minutes; one probe at a time is sent; a server that answers its
// health check and nothing else is not back; and when it is, everybody is woken
// and nothing of before is believed.
func TestOutage(t *testing.T) {
	p := newPlay()
	changes, wakes := p.s.Changes(), p.s.Wakes()
	p.up.Store(true)
	p.healthy.Store(true)
	p.glance(t)

	p.up.Store(false)
	p.crowd()
	hear(t, changes, "the outage begins")
	p.staysShut(t, "down")
	p.ahead.Store(int64(2 * time.Minute))
	hear(t, wakes, "the outage is told")
	p.healthy.Store(false)
	p.up.Store(true)
	p.staysShut(t, "up, and cannot list its teams")

	p.healthy.Store(true)
	hear(t, changes, "the outage is over, to the server")
	hear(t, wakes, "the outage is over, to all")
	if requests := p.glance(t); requests != 1 {
		t.Errorf("a snapshot from before the outage is believed: %d requests", requests)
	}
	if requests := p.glance(t); requests != 0 {
		t.Errorf("%d requests for a snapshot that is there", requests)
	}
}

// TestEnd: no session outlives the manager.
func TestEnd(t *testing.T) {
	p := newPlay()
	p.up.Store(true)
	p.healthy.Store(true)
	p.glance(t)
	life := p.s.open[p.server.UID].life
	ended, end := context.WithCancel(context.Background())
	end()
	if err := p.s.Start(ended); err != nil || life.Err() == nil || len(p.s.open) != 0 {
		t.Errorf("the sessions outlive the manager: %v", err)
	}
}

// TestWhatIsBack: a server is back when it answers, not when it agrees.
func TestWhatIsBack(t *testing.T) {
	for name, c := range map[string]struct {
		health, list http.RoundTripper
		back         bool
	}{
		"healthy":             {answer(200, "text/plain", "ok"), answer(200, "application/json", "[]"), true},
		"without a health":    {answer(404, "text/plain", "404 page not found"), answer(200, "application/json", "[]"), true},
		"with another key":    {answer(200, "text/plain", "ok"), said(401, "unauthorized"), true},
		"not healthy":         {said(503, "database"), answer(200, "application/json", "[]"), false},
		"without its lists":   {answer(200, "text/plain", "ok"), said(500, "internal"), false},
		"behind a dead proxy": {answer(502, "text/html", "<html>"), answer(502, "text/html", "<html>"), false},
		"gone":                {refusing(), refusing(), false},
	} {
		one := testSession(t, newClock(), wire(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/healthz" {
				return c.health.RoundTrip(r)
			}
			return c.list.RoundTrip(r)
		}))
		one.gate.closed = true
		if back := one.answers(); back != c.back || one.gate.closed == c.back {
			t.Errorf("a server that is %s: back is %v", name, back)
		}
	}
}
