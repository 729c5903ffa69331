package inject

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"

	"encoding/json"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// failures are the modes of a question that goes over a network.
var failures = []Mode{ReadRefused, ReadTimeout, ReadInternal, ReadUnavailable, ReadUnauthorized, ReadHTML}

// question is one read: do asks, found counts the items of a list that was the
// answer, fail makes what the caller sees in its place.
type question struct {
	what  string
	fails bool
	do    func() error
	found func() int
	fail  func(Mode) error
}

// read asks one question, or lets its answer be wrong. What goes wrong with an
// empty list is the answer's own affair: fail is called after do then.
func (j *Injector) read(ctx context.Context, fence *Fence, q question) error {
	if fence.Down {
		return errFenced
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	label, fault := j.next(q.what)
	at := len(j.reads)
	if label != "" {
		j.reads = append(j.reads, Point{Label: label, Again: j.again(q.what)})
	}
	j.mu.Unlock()
	if fault != nil {
		if fault.Mode == ReadEmpty {
			if err := q.do(); err != nil {
				return err
			}
		}
		return q.fail(fault.Mode)
	}
	err := q.do()
	if label == "" {
		return err
	}
	var modes []Mode
	if q.fails {
		modes = failures
	}
	if err == nil && q.found() > 0 {
		modes = append(modes[:len(modes):len(modes)], ReadEmpty)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reads[at].Modes = modes
	return err
}

// again counts a question, and tells whether it was asked twice since anything
// has changed. It holds the lock.
func (j *Injector) again(what string) bool {
	if j.asked == nil {
		j.asked = map[string]int{}
	}
	j.asked[what]++
	return j.asked[what] > 2
}

// Live injects into what one incarnation reads from the API server.
func (j *Injector) Live(fence *Fence) world.Around {
	return func(ctx context.Context, call world.Call, do func() error) error {
		return j.read(ctx, fence, question{
			what: "K8S " + call.Verb + " " + call.ID.String(), fails: true, do: do, found: items(call),
			fail: func(m Mode) error { return unread(ctx, call, m) },
		})
	}
}

// Cached injects into the lists that one incarnation reads from its cache, which
// does not fail.
func (j *Injector) Cached(fence *Fence) world.Around {
	return func(ctx context.Context, call world.Call, do func() error) error {
		if call.Found == nil && !fence.Down {
			return do()
		}
		return j.read(ctx, fence, question{
			what: "CACHE " + call.Verb + " " + call.ID.String(), do: do, found: items(call),
			fail: func(Mode) error { return world.ErrEmpty },
		})
	}
}

func items(call world.Call) func() int {
	if call.Found == nil {
		return func() int { return 0 }
	}
	return call.Found
}

// unread is what the API server does not say.
func unread(ctx context.Context, call world.Call, m Mode) error {
	switch m {
	case ReadTimeout:
		<-ctx.Done()
		return ctx.Err()
	case ReadInternal:
		return apierrors.NewInternalError(errors.New("injected"))
	case ReadUnavailable:
		return apierrors.NewServiceUnavailable("injected")
	case ReadUnauthorized:
		return apierrors.NewUnauthorized("injected")
	case ReadHTML:
		gr := schema.GroupResource{Resource: strings.ToLower(call.Kind)}
		return apierrors.NewGenericServerResponse(http.StatusOK, call.Verb, gr, call.Name, "invalid character '<' looking for beginning of value", 0, true)
	case ReadEmpty:
		return world.ErrEmpty
	default:
		return errRefused
	}
}

// ask injects into a GET to a terdut-server.
func (j *Injector) ask(fence *Fence, next http.RoundTripper, req *http.Request) (*http.Response, error) {
	var answer *http.Response
	var list []json.RawMessage
	err := j.read(req.Context(), fence, question{
		what: "REST " + req.Method + " " + Template(req.URL.Path), fails: true,
		do: func() (err error) {
			answer, list, err = j.listed(next.RoundTrip(req))
			return err
		},
		found: func() int { return len(list) },
		fail: func(m Mode) (err error) {
			discard(answer, nil)
			answer, err = unanswered(req, m)
			return err
		},
	})
	if err != nil {
		discard(answer, nil)
		return nil, err
	}
	return answer, nil
}

// listed reads the items of an answer that is a list, and turns them if that is
// what goes wrong.
func (j *Injector) listed(answer *http.Response, err error) (*http.Response, []json.RawMessage, error) {
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return answer, nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 1 {
		j.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		if body, err = json.Marshal(list); err != nil {
			return answer, nil, err
		}
		answer.ContentLength = int64(len(body))
	}
	answer.Body = io.NopCloser(strings.NewReader(string(body)))
	return answer, list, nil
}

// unanswered is what a terdut-server does not say, or somebody says in its place.
func unanswered(req *http.Request, m Mode) (*http.Response, error) {
	switch m {
	case ReadRefused:
		return nil, errRefused
	case ReadTimeout:
		<-req.Context().Done()
		return nil, req.Context().Err()
	case ReadInternal:
		return reply(req, http.StatusInternalServerError, "application/json", `{"error":"injected"}`), nil
	case ReadUnavailable:
		return reply(req, http.StatusServiceUnavailable, "text/html", "<h1>503 Service Unavailable</h1>"), nil
	case ReadUnauthorized:
		return reply(req, http.StatusUnauthorized, "application/json", `{"error":"injected"}`), nil
	case ReadHTML:
		return reply(req, http.StatusOK, "text/html", "<h1>Sign in</h1>"), nil
	default:
		return reply(req, http.StatusOK, "application/json", "[]"), nil
	}
}

// turns says in which order lists come.
type turns struct {
	// random is nil for the reverse order.
	random *rand.Rand
}

// newTurns reads the number at the end of a label: the first one turns lists
// round, each other one is an order of its own.
func newTurns(label string) *turns {
	if strings.HasSuffix(label, "#1") {
		return &turns{}
	}
	seed := uint64(0)
	for _, c := range label {
		seed = seed*31 + uint64(c)
	}
	return &turns{random: rand.New(rand.NewPCG(seed, seed))} //nolint:gosec // the same in every run, on purpose
}

// Shuffle brings the items of a list in another order, if that is what goes
// wrong.
func (j *Injector) Shuffle(n int, swap func(a, b int)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.turns == nil:
	case j.turns.random == nil:
		for i := range n / 2 {
			swap(i, n-1-i)
		}
	default:
		j.turns.random.Shuffle(n, swap)
	}
}
