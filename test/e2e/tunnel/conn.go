package tunnel

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// forwarded makes a connection of a data stream.
type forwarded struct {
	httpstream.Stream
	connection httpstream.Connection
	// complaint gets what the other end says when it could not connect.
	complaint chan error

	mu    sync.Mutex
	timer *time.Timer
	late  bool
}

// Read tells why a stream ends, where the other end has said it.
func (f *forwarded) Read(p []byte) (int, error) {
	n, err := f.Stream.Read(p)
	if err == nil || n > 0 {
		return n, err
	}
	f.mu.Lock()
	late := f.late
	f.mu.Unlock()
	if late {
		return 0, errLate
	}
	if errors.Is(err, io.EOF) {
		select {
		case said := <-f.complaint:
			if said != nil {
				return 0, said
			}
		default:
		}
	}
	return 0, err
}

func (f *forwarded) Close() error { return f.connection.Close() }

func (f *forwarded) LocalAddr() net.Addr  { return place{} }
func (f *forwarded) RemoteAddr() net.Addr { return place{} }

// SetDeadline closes the connection at t: a stream knows no deadlines. The zero time takes a deadline away.
func (f *forwarded) SetDeadline(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	if !t.IsZero() {
		f.timer = time.AfterFunc(time.Until(t), func() {
			f.mu.Lock()
			f.late = true
			f.mu.Unlock()
			_ = f.connection.Close() // whoever reads or writes is told
		})
	}
	return nil
}

func (f *forwarded) SetReadDeadline(t time.Time) error  { return f.SetDeadline(t) }
func (f *forwarded) SetWriteDeadline(t time.Time) error { return f.SetDeadline(t) }

// errLate is the end of a connection at its deadline.
var errLate error = lateError{}

type lateError struct{}

func (lateError) Error() string   { return "the forwarded connection's deadline has passed" }
func (lateError) Timeout() bool   { return true }
func (lateError) Temporary() bool { return true }

// place is the address of both ends: a forwarded connection has none that means anything.
type place struct{}

func (place) Network() string { return "portforward" }
func (place) String() string  { return "portforward" }
