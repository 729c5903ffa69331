package testenv

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// Network leads a request to the reference server whose Service it names. It
// implements http.RoundTripper and is safe for concurrent use.
type Network struct {
	mu    sync.Mutex
	hosts map[string]*Peer
	// all are those that another one took the place of, too.
	all []*Peer
}

// Peer is a reference server on the network.
type Peer struct {
	*refserver.Server
	down atomic.Bool

	mu sync.Mutex
	// dials, dialing and atOnce count connections to a peer that is down: all
	// since the last ResetDials, those of this moment, and the most at once.
	dials, dialing, atOnce int
}

// dialTime is how long a connection takes to be refused.
const dialTime = 20 * time.Millisecond

// Down makes the peer refuse connections, or ends that.
func (p *Peer) Down(down bool) { p.down.Store(down) }

// Dials are how many connections were tried while the peer was down since the
// last ResetDials, and how many of them at once.
func (p *Peer) Dials() (all, atOnce int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials, p.atOnce
}

// ResetDials forgets the connections so far.
func (p *Peer) ResetDials() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials, p.atOnce = 0, p.dialing
}

// refuse refuses a connection.
func (p *Peer) refuse(req *http.Request) error {
	count := func(n int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dialing += n
		p.dials += max(n, 0)
		p.atOnce = max(p.atOnce, p.dialing)
	}
	count(1)
	defer count(-1)
	timer := time.NewTimer(dialTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case <-req.Context().Done():
		return req.Context().Err()
	}
}

// Writes counts the requests since the last ResetRequests that can change
// something on the server, whatever became of them.
func (p *Peer) Writes() int {
	count := 0
	for _, r := range p.Requests() {
		if r.Write() {
			count++
		}
	}
	return count
}

// Calls are the requests with one of the methods since the last ResetRequests,
// as "METHOD path template".
func (p *Peer) Calls(methods ...string) []string {
	var out []string
	for _, r := range p.Requests() {
		for _, m := range methods {
			if r.Method == m {
				out = append(out, r.Method+" "+r.Path)
			}
		}
	}
	return out
}

// Serve puts a fresh reference server behind the Service of a TerdutServer. A
// TerdutServer without one cannot be reached: its name does not resolve.
func (n *Network) Serve(namespace, name string, options refserver.Options) (*Peer, error) {
	server, err := refserver.New(options)
	if err != nil {
		return nil, fmt.Errorf("start a reference server for %s/%s: %w", namespace, name, err)
	}
	peer := &Peer{Server: server}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts == nil {
		n.hosts = map[string]*Peer{}
	}
	n.hosts[fmt.Sprintf("%s.%s.svc", name, namespace)] = peer
	n.all = append(n.all, peer)
	return peer, nil
}

// RoundTrip implements http.RoundTripper.
func (n *Network) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Hostname()
	n.mu.Lock()
	peer := n.hosts[host]
	n.mu.Unlock()
	switch {
	case peer == nil:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	case peer.down.Load():
		return nil, peer.refuse(req)
	}
	return peer.Transport().RoundTrip(req)
}
