package badinput_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// proxy stands in front of one reference server and spoils what it is told to.
type proxy struct {
	*refserver.Server
	listener *httptest.Server

	mu    sync.Mutex
	spoil func(r *http.Request) *spoiling
	calls []string
}

// spoiling is what becomes of one request.
type spoiling struct {
	// reaches is true when the server sees the request and does its work.
	reaches bool
	// with makes the answer from the one that the server gave, or would give to
	// a call that needs no answer.
	with spoiler
}

// spoiler answers in the place of the server.
type spoiler func(w http.ResponseWriter, r *http.Request, genuine *httptest.ResponseRecorder)

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.calls = append(p.calls, r.Method+" "+r.URL.Path)
	choose := p.spoil
	p.mu.Unlock()
	var s *spoiling
	if choose != nil {
		s = choose(r)
	}
	if s == nil {
		p.Server.ServeHTTP(w, r)
		return
	}
	genuine := httptest.NewRecorder()
	genuine.Code = http.StatusNoContent
	if s.reaches {
		p.Server.ServeHTTP(genuine, r)
	}
	s.with(w, r, genuine)
}

// misbehave exchanges what is spoiled; nil ends it. It forgets the calls so far.
func (p *proxy) misbehave(spoil func(r *http.Request) *spoiling) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoil, p.calls = spoil, nil
}

// called are the calls since the last misbehave, as "METHOD path", with one of
// the methods; with none given, all.
func (p *proxy) called(methods ...string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, call := range p.calls {
		method, _, _ := strings.Cut(call, " ")
		if len(methods) == 0 {
			out = append(out, call)
		}
		for _, m := range methods {
			if m == method {
				out = append(out, call)
			}
		}
	}
	return out
}

// handled counts the calls of a route that the server itself has answered.
func (p *proxy) handled(method, suffix string) int {
	count := 0
	for _, r := range p.Requests() {
		if r.Method == method && strings.HasSuffix(r.Path, suffix) && r.Handled >= 200 && r.Handled < 300 {
			count++
		}
	}
	return count
}

// proxies is the network: the proxy behind the name of each Service.
type proxies struct {
	mu     sync.Mutex
	byHost map[string]string
	all    []*proxy
}

// close ends the proxies.
func (n *proxies) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.all {
		p.listener.CloseClientConnections()
		p.listener.Close()
	}
}

// serve puts a fresh reference server and its proxy behind a TerdutServer.
func (n *proxies) serve(namespace, name string) (*proxy, error) {
	server, err := refserver.New(refserver.Options{SkipValidation: true})
	if err != nil {
		return nil, fmt.Errorf("start a reference server: %w", err)
	}
	p := &proxy{Server: server}
	p.listener = httptest.NewServer(p)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, p)
	if n.byHost == nil {
		n.byHost = map[string]string{}
	}
	n.byHost[fmt.Sprintf("%s.%s.svc:8080", name, namespace)] = p.listener.Listener.Addr().String()
	return p, nil
}

// transport is a real one that finds the proxies by the names of Services.
func (n *proxies) transport() http.RoundTripper {
	dialer := &net.Dialer{}
	return &http.Transport{DialContext: func(ctx context.Context, protocol, address string) (net.Conn, error) {
		n.mu.Lock()
		at, ok := n.byHost[address]
		n.mu.Unlock()
		if !ok {
			return nil, &net.OpError{Op: "dial", Net: protocol, Err: &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}}
		}
		return dialer.DialContext(ctx, protocol, at)
	}}
}
