package refserver

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"sync"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver/internal/gen"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// Server is the reference server. It is an http.Handler and safe for concurrent use.
type Server struct {
	model    *model.Model
	options  Options
	mux      *http.ServeMux
	api      http.Handler // routes behind capabilities, authentication and validation
	validate *validator   // nil when off

	mu           sync.Mutex
	capabilities Capabilities
	fault        FaultFunc
	latency      time.Duration
	requests     []*Request
	violations   []string
}

// New returns a server that answers at once.
func New(options Options) (*Server, error) {
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.Version == "" {
		options.Version = DefaultVersion
	}
	if options.KeepRequests == 0 {
		options.KeepRequests = 100000
	}
	if options.Settings.IntegrationKinds == nil {
		options.Settings.IntegrationKinds = []string{"alertmanager"}
	}
	state, err := model.New(options.Settings, options.Clock, options.Store)
	if err != nil {
		return nil, err
	}
	s := &Server{
		model: state, options: options, capabilities: AllCapabilities(),
		fault: options.Fault, latency: options.Latency, mux: http.NewServeMux(),
	}
	if options.Capabilities != nil {
		s.capabilities = *options.Capabilities
	}
	strict := gen.NewStrictHandlerWithOptions(&api{s}, nil, gen.StrictHTTPServerOptions{
		RequestErrorHandlerFunc:  badRequest,
		ResponseErrorHandlerFunc: failed,
	})
	gen.HandlerWithOptions(strict, gen.StdHTTPServerOptions{BaseRouter: s.mux, ErrorHandlerFunc: badRequest})
	s.api = s.mux
	if !options.SkipValidation {
		if s.validate, err = newValidator(); err != nil {
			return nil, err
		}
		s.api = s.validated(s.api)
	}
	s.api = s.fresh(s.authenticated(s.api))
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, route := s.mux.Handler(r)
	if s.hidden(route) {
		route = ""
	}
	entry := s.record(r.Method, route)
	out := &statusWriter{ResponseWriter: w, note: func(status int) { s.note(func() { entry.Status = status }) }}
	own := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := &statusWriter{ResponseWriter: w, note: func(status int) { s.note(func() { entry.Handled = status }) }}
		if route == "" {
			s.missing(in, r)
			return
		}
		s.api.ServeHTTP(in, r.WithContext(context.WithValue(r.Context(), callKey{}, &call{route: route, entry: entry})))
	})
	if !s.wait(r) {
		panic(http.ErrAbortHandler)
	}
	if disturb := s.faultFor(r, route); disturb != nil {
		disturb(out, r, own)
		return
	}
	own(out, r)
}

// missing answers for a route that is not there: hidden and unknown paths look the same.
func (s *Server) missing(w http.ResponseWriter, r *http.Request) {
	if _, route := s.mux.Handler(r); route != "" {
		http.NotFound(w, r)
		return
	}
	s.mux.ServeHTTP(w, r) // also knows a wrong method
}

func (s *Server) hidden(route string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities.hides(route)
}

func (s *Server) wait(r *http.Request) bool {
	s.mu.Lock()
	latency := s.latency
	s.mu.Unlock()
	if latency == 0 {
		return true
	}
	timer := time.NewTimer(latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// Tick does what is due by now: snoozes, silent switches, stale alerts, archiving, next steps of policies. Somebody
// has to call it; the binary does so every second.
func (s *Server) Tick(now time.Time) error {
	pages, err := s.model.Tick(now)
	if err != nil {
		return err
	}
	return s.deliver(context.Background(), pages)
}

// deliver sends pages and notes in the timeline what became of each.
func (s *Server) deliver(ctx context.Context, pages []model.Page) error {
	for _, page := range pages {
		reason := ""
		switch {
		case page.Topic == "":
			reason = "nobody can be reached: no topic, and no fallback topic is set"
		case s.options.Notifier != nil:
			if err := s.options.Notifier.Notify(ctx, page); err != nil {
				reason = err.Error()
			}
		}
		if err := s.model.Delivered(page, reason); err != nil {
			return err
		}
	}
	return nil
}

type callKey struct{}

// call is what is known of a request while it is served.
type call struct {
	route string
	entry *Request
	actor model.Actor
}

func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

func writeError(w http.ResponseWriter, status int, message string) {
	body, err := json.Marshal(gen.ErrorBody{Error: message})
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The caller may be gone; nothing is left to do about that.
	_, _ = w.Write(body)
}

func badRequest(w http.ResponseWriter, _ *http.Request, err error) {
	var format *gen.InvalidParamFormatError
	if errors.As(err, &format) {
		writeError(w, http.StatusBadRequest, "invalid "+format.ParamName)
		return
	}
	writeError(w, http.StatusBadRequest, "the request is not valid JSON for this call")
}

func failed(w http.ResponseWriter, r *http.Request, err error) {
	var refusal *model.Refusal
	if errors.As(err, &refusal) {
		writeError(w, refusal.Status, refusal.Message)
		return
	}
	log.Printf("%s: %v", callOf(r.Context()).route, err)
	writeError(w, http.StatusInternalServerError, "internal error")
}
