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

// TestOutage plays a whole one: it is the server's news at once and everybody's
// after two minutes; one probe at a time is sent; a server that answers its
// health check and nothing else is not back; and when it is, everybody is woken
// and nothing of before is believed.
func TestOutage(t *testing.T) {
	var ahead atomic.Int64
	h := &host{}
	s := New(Options{
		Transport: h, Reader: credentials{}, Limits: Limits{ProbePause: 20 * time.Millisecond},
		Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	changes, wakes := s.Changes(), s.Wakes()
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut", UID: "uid"}}
	server.Status.OperatorCredentialsSecretRef = &v1alpha1.LocalRef{Name: "key"}
	ctx := context.Background()

	h.up.Store(true)
	h.healthy.Store(true)
	turn, err := s.For(ctx, server, "n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = turn.Teams(ctx, remote.Snapshot); err != nil {
		t.Fatal(err)
	}

	h.up.Store(false)
	var passes sync.WaitGroup
	for range 50 {
		passes.Go(func() {
			for range 20 {
				if own, err := s.For(ctx, server, "n"); err == nil {
					_, _ = own.CreateTeam(ctx, "a")
				}
			}
		})
	}
	passes.Wait()
	hear(t, changes, "the outage begins")
	if !s.Silent(server.UID) {
		t.Error("not silent")
	}
	h.most.Store(0)
	for begin := h.sent.Load(); h.sent.Load() < begin+5; {
		if _, err = s.For(ctx, server, "n"); err == nil {
			t.Fatal("a pass is let through")
		}
	}
	ahead.Store(int64(2 * time.Minute))
	hear(t, wakes, "the outage is told")

	h.healthy.Store(false)
	h.up.Store(true)
	for begin := h.sent.Load(); h.sent.Load() < begin+6; {
		if !s.Silent(server.UID) {
			t.Fatal("a server that cannot list its teams counts as back")
		}
	}
	if most := h.most.Load(); most != 1 {
		t.Errorf("%d probes at once", most)
	}
	h.healthy.Store(true)
	hear(t, changes, "the outage is over, to the server")
	hear(t, wakes, "the outage is over, to all")
	begin := h.sent.Load()
	if turn, err = s.For(ctx, server, "n"); err != nil {
		t.Fatal(err)
	}
	if _, err = turn.Teams(ctx, remote.Snapshot); err != nil || h.sent.Load() != begin+1 {
		t.Errorf("a snapshot from before the outage is believed: %v", err)
	}

	life := s.open[server.UID].life
	ended, end := context.WithCancel(ctx)
	end()
	if err = s.Start(ended); err != nil || life.Err() == nil || len(s.open) != 0 {
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
