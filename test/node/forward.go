package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// forwarder makes a port of the node reachable on the machine's loopback. It outlives restarts of what listens there: a
// connection that comes while nothing does is closed.
type forwarder struct {
	listener net.Listener
	dial     func(context.Context) (net.Conn, error)
	context  context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// startForwarder listens on 127.0.0.1 at port, 0 for a free one.
func startForwarder(port int, dial func(context.Context) (net.Conn, error)) (*forwarder, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("start node: port %d on 127.0.0.1 is in use by another process: choose another one, or 0 for a free one", port)
	}
	if err != nil {
		return nil, fmt.Errorf("start node: listen for clients of the API server: %w", err)
	}
	f := &forwarder{listener: listener, dial: dial}
	f.context, f.cancel = context.WithCancel(context.Background())
	f.running.Go(f.accept)
	return f, nil
}

// url is the address for clients of an HTTPS server behind the forwarder.
func (f *forwarder) url() string { return "https://" + f.listener.Addr().String() }

func (f *forwarder) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		f.running.Go(func() { f.serve(client) })
	}
}

// serve copies in both directions until one side ends or the forwarder is closed.
func (f *forwarder) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := f.dial(f.context)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	stop := context.AfterFunc(f.context, func() { _, _ = client.Close(), server.Close() })
	defer stop()
	var up sync.WaitGroup
	up.Go(func() { pipe(server, client) })
	pipe(client, server)
	up.Wait()
}

// pipe copies until from ends, and passes the end on.
func pipe(to, from net.Conn) {
	_, err := io.Copy(to, from)
	half, ok := to.(*net.TCPConn)
	if err != nil || !ok {
		_ = to.Close()
		return
	}
	_ = half.CloseWrite()
}

// close ends all connections. It may be called on nil.
func (f *forwarder) close() error {
	if f == nil {
		return nil
	}
	f.cancel()
	err := f.listener.Close()
	f.running.Wait()
	if err != nil {
		return fmt.Errorf("close port of the API server: %w", err)
	}
	return nil
}
