package testenv

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Requests counts what the operator asks of the API server. It is safe for
// concurrent use.
type Requests struct {
	mu        sync.Mutex
	writes    []string
	inside    map[string]int
	events    int
	forbidden []string
	secrets   []string
	statuses  int
	unguarded []string
	written   bytes.Buffer
}

// Writes are the requests since the last Reset that can change something, as
// "METHOD path"; where namespaces are named, those inside them. Events and leases
// are not among them.
func (r *Requests) Writes(namespaces ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	writes := slices.Clone(r.writes)
	if len(namespaces) == 0 {
		return writes
	}
	return slices.DeleteFunc(writes, func(write string) bool {
		namespace, inside := namespaceOf(write)
		return !inside || !slices.Contains(namespaces, namespace)
	})
}

// WritesIn counts the writes inside these namespaces since the start. Reset does
// not forget them.
func (r *Requests) WritesIn(namespaces ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := 0
	for _, namespace := range namespaces {
		count += r.inside[namespace]
	}
	return count
}

// Events counts the writes of Events since the last Reset.
func (r *Requests) Events() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// Forbidden are all requests that were answered 403 because the role does not
// allow them. Reset does not forget them.
func (r *Requests) Forbidden() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.forbidden)
}

// Reset forgets the writes and the reads of Secrets so far.
func (r *Requests) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes, r.events, r.secrets = nil, 0, nil
}

// wrap counts what goes through a transport. It counts before it asks: whoever
// sees what a write has done finds it counted, and no Reset of theirs comes too
// early for it.
func (r *Requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		r.asked(req)
		resp, err := next.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusForbidden && byRole(resp) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.forbidden = append(r.forbidden, whatOf(req))
		}
		return resp, err
	})
}

// asked counts a request.
func (r *Requests) asked(req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sawSecret(req)
	r.sawStatus(req)
	r.sawWrite(req)
	switch {
	case req.Method == http.MethodGet, strings.Contains(req.URL.Path, "/leases"):
	case strings.Contains(req.URL.Path, "/events"):
		r.events++
	default:
		r.writes = append(r.writes, whatOf(req))
		r.count(req.URL.Path)
	}
}

// whatOf names a request by its method and path.
func whatOf(req *http.Request) string { return req.Method + " " + req.URL.Path }

// count counts a write by its namespace; the caller holds the lock.
func (r *Requests) count(path string) {
	namespace, inside := namespaceOf(path)
	if !inside {
		return
	}
	if r.inside == nil {
		r.inside = map[string]int{}
	}
	r.inside[namespace]++
}

// namespaceOf is the namespace that a path leads into, if it leads into one.
func namespaceOf(path string) (namespace string, inside bool) {
	_, below, inside := strings.Cut(path, "/namespaces/")
	namespace, _, _ = strings.Cut(below, "/")
	return namespace, inside
}

// byRole tells a 403 of the authorizer from one of admission, such as that of a
// namespace that is being deleted. The body can be read again afterwards.
func byRole(resp *http.Response) bool {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it was read, as far as it came
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return err != nil || bytes.Contains(body, []byte("cannot "))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
