package refserver

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request is one request as the server saw it. It holds no id, no query and no key.
type Request struct {
	Method string
	// Path is the path template, such as /api/teams/{teamID}; empty for a route that the server does not have.
	Path string
	// Actor is the user or account whose key came along; empty for none or a bad one.
	Actor string
	// Status is what went out; 0 while the request hangs, or when the connection was dropped.
	Status int
	// Handled is what the server's own handler answered; 0 when a fault kept the request from it.
	Handled int
	// At is when the request came, by the server's clock.
	At time.Time
}

// Write reports whether the request can change something.
func (r Request) Write() bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

func (s *Server) record(method, route string) *Request {
	_, path, _ := strings.Cut(route, " ")
	entry := &Request{Method: method, Path: path, At: s.options.Clock()}
	s.note(func() {
		if surplus := len(s.requests) + 1 - s.options.KeepRequests; surplus > 0 {
			s.requests = slices.Delete(s.requests, 0, surplus)
		}
		s.requests = append(s.requests, entry)
	})
	return entry
}

func (s *Server) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Requests returns every request since the start or the last ResetRequests, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := make([]Request, 0, len(s.requests))
	for _, entry := range s.requests {
		requests = append(requests, *entry)
	}
	return requests
}

// ResetRequests forgets the requests so far.
func (s *Server) ResetRequests() { s.note(func() { s.requests = nil }) }

// statusWriter notes the status that is written.
type statusWriter struct {
	http.ResponseWriter
	note  func(status int)
	noted bool
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if !w.noted && status >= 200 {
		w.noted = true
		w.note(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusWriter) Write(b []byte) (int, error) {
	if !w.noted {
		w.noted = true
		w.note(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
