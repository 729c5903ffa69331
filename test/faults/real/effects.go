package real

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// errEnded is what a process sees that has ended; nobody reads it.
var errEnded = errors.New("the process has ended")

// fence stands between one incarnation and everything outside of it. Effects go
// one after the other, so that it is known what came before a crash.
type fence struct {
	inject.Fence
	// turn is whose effect it is. All incarnations of a run share it.
	turn *sync.Mutex
	// ended is closed when nothing passes any more.
	ended chan struct{}
	once  sync.Once
}

// down lets nothing through any more.
func (f *fence) down() {
	f.turn.Lock()
	defer f.turn.Unlock()
	f.lower()
}

func (f *fence) lower() {
	f.Down = true
	f.once.Do(func() { close(f.ended) })
}

// isDown tells whether nothing passes any more.
func (f *fence) isDown() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// effect sends a request that can change something when it is its turn.
func (f *fence) effect(send func() (*http.Response, error)) (*http.Response, error) {
	f.turn.Lock()
	defer f.turn.Unlock()
	resp, err := send()
	if f.Down {
		f.lower()
	}
	return resp, err
}

// effects is the way of one incarnation to the API server.
type effects struct {
	fence    *fence
	injector *inject.Injector
	kinds    map[schema.GroupResource]string
	// noted is told of every Event.
	noted func(string)
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (e *effects) RoundTrip(req *http.Request) (*http.Response, error) {
	switch p := parse(req.URL.Path); {
	case e.fence.isDown():
		return nil, errEnded
	case req.Method == http.MethodGet:
		return e.next.RoundTrip(req)
	case p.resource == "events":
		return e.event(req)
	default:
		call, err := e.call(p, req)
		if err != nil {
			return nil, err
		}
		return e.fence.effect(func() (*http.Response, error) {
			return e.injector.API(&e.fence.Fence, call, req, e.next)
		})
	}
}

// call says what a request is.
func (e *effects) call(p path, req *http.Request) (world.Call, error) {
	kind, ok := e.kinds[schema.GroupResource{Group: p.group, Resource: p.resource}]
	if !ok {
		return world.Call{}, fmt.Errorf("%s %s: what kind is that? Tell the campaign", req.Method, req.URL.Path)
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[req.Method]
	if strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch") {
		verb = "apply"
	}
	call := world.Call{Verb: verb, Subresource: p.subpath}
	call.Kind, call.Namespace, call.Name = kind, p.namespace, p.name
	if call.Name == "" && req.GetBody != nil {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(testenv.Sent(req), &object); err != nil {
			return call, fmt.Errorf("read the name of a new %s: %w", kind, err)
		}
		call.Name = object.Name
	}
	return call, nil
}

// event keeps an Event and does not send it: the API server does nothing with it.
func (e *effects) event(req *http.Request) (*http.Response, error) {
	body := testenv.Sent(req)
	e.noted(string(body))
	return &http.Response{
		Status: "Created", StatusCode: http.StatusCreated, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}, nil
}

// toServers is the way of one incarnation to terdut-servers.
type toServers struct {
	fence *fence
	reads http.RoundTripper
	// writes has the injector.
	writes http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s *toServers) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case s.fence.isDown():
		return nil, errEnded
	case req.Method == http.MethodGet || req.Method == http.MethodHead:
		return s.reads.RoundTrip(req)
	default:
		return s.fence.effect(func() (*http.Response, error) { return s.writes.RoundTrip(req) })
	}
}
