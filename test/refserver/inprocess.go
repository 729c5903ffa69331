package refserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
)

// errDropped is what a caller sees of a connection that the server closed.
var errDropped = errors.New("the connection was closed")

// Transport reaches the server without a network: every host name leads to it. Faults look as they do over HTTP.
func (s *Server) Transport() http.RoundTripper { return inProcess{s} }

type inProcess struct{ server *Server }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	body := []byte{}
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, errors.Join(err, req.Body.Close())
		}
		if err = req.Body.Close(); err != nil {
			return nil, err
		}
	}
	in := req.Clone(req.Context())
	in.Body, in.RequestURI, in.Host = io.NopCloser(bytes.NewReader(body)), req.URL.RequestURI(), req.URL.Host
	in.URL.Scheme, in.URL.Host = "", "" // a server sees a path
	answer := httptest.NewRecorder()
	done := make(chan bool, 1)
	go func() { done <- t.serve(answer, in) }()
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case whole := <-done:
		return finish(answer, req, whole)
	}
}

// serve reports whether the answer is whole; a handler that drops the connection panics with http.ErrAbortHandler.
func (t inProcess) serve(w http.ResponseWriter, r *http.Request) (whole bool) {
	defer func() {
		if reason := recover(); reason != nil && reason != any(http.ErrAbortHandler) {
			panic(reason)
		}
	}()
	t.server.ServeHTTP(w, r)
	return true
}

func finish(answer *httptest.ResponseRecorder, req *http.Request, whole bool) (*http.Response, error) {
	if !whole && !answer.Flushed {
		return nil, errDropped
	}
	resp := answer.Result()
	resp.Request = req
	if !whole {
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, cut{}))
	}
	return resp, nil
}

// cut is where a body ends too early.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
