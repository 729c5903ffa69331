package refserver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// Fault answers a request in place of the server, or around it: next is the server's own handler.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// FaultFunc chooses the fault for a request; nil leaves it alone. Route is method and path template, such as
// "POST /api/teams", and empty for a route that the server does not have. It is called for each request, possibly from
// several goroutines.
type FaultFunc func(r *http.Request, route string) Fault

// SetFault exchanges the faults; nil ends them.
func (s *Server) SetFault(f FaultFunc) { s.note(func() { s.fault = f }) }

// SetLatency exchanges the latency of every request.
func (s *Server) SetLatency(latency time.Duration) { s.note(func() { s.latency = latency }) }

// SetCapabilities exchanges what the server offers, as an upgrade or a downgrade would.
func (s *Server) SetCapabilities(c Capabilities) { s.note(func() { s.capabilities = c }) }

func (s *Server) faultFor(r *http.Request, route string) Fault {
	s.mu.Lock()
	choose := s.fault
	s.mu.Unlock()
	if choose == nil {
		return nil
	}
	return choose(r, route)
}

// Answer gives this answer; the server does not see the request.
func Answer(status int, contentType, body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the caller may be gone
	}
}

// JSONError gives a JSON error; the server does not see the request.
func JSONError(status int, message string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { writeError(w, status, message) }
}

// TooMany gives a 429 with Retry-After, in whole seconds.
func TooMany(retryAfter time.Duration) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
		writeError(w, http.StatusTooManyRequests, "slow down")
	}
}

// Drop closes the connection; the server does not see the request.
func Drop(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// Hang answers nothing until the caller gives up; the server does not see the request.
func Hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// LoseAnswer lets the server do its work and then closes the connection.
func LoseAnswer(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// Truncate sends half of the server's answer and closes the connection.
func Truncate(w http.ResponseWriter, r *http.Request, next http.Handler) {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body[:len(body)/2])
	// Without a flush the connection would close before anything was sent.
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Twice lets the server see the request two times, as a proxy that retries would, and sends the first answer.
func Twice(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	again := r.Clone(r.Context())
	r.Body, again.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(w, r)
	next.ServeHTTP(httptest.NewRecorder(), again)
}

// Late keeps a request to deliver it a second time later, as a slow network can.
type Late struct {
	mu     sync.Mutex
	replay []func() int
}

// Fault is the fault that lets a request through and keeps a copy.
func (l *Late) Fault(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	again := r.Clone(context.WithoutCancel(r.Context()))
	r.Body, again.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(w, r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replay = append(l.replay, func() int {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, again)
		return answer.Code
	})
}

// Deliver delivers what was kept, each once, and returns the statuses that nobody sees.
func (l *Late) Deliver() []int {
	l.mu.Lock()
	replay := l.replay
	l.replay = nil
	l.mu.Unlock()
	statuses := make([]int, 0, len(replay))
	for _, deliver := range replay {
		statuses = append(statuses, deliver())
	}
	return statuses
}
