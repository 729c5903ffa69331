// Package namespace runs processes in namespaces of their own, under a root directory of their own: what kind does with a
// container, done with the kernel's own means.
//
// The first process in the namespaces is a program that does nothing; when it ends, the kernel ends all others, unmounts
// what they mounted and removes their network devices. It dies with the process that made it, whatever ends that. So
// nothing of a Namespace outlives its maker, save the cgroups.
//
// The root directory shows the machine's programs and libraries read-only and none of its other directories, so that what
// runs there cannot leave a file behind anywhere else.
package namespace

import (
	"context"
	"fmt"
	"net"
	"strings"
)

// Layout says what the root directory of a [Namespace] shows.
type Layout struct {
	// Dir is a directory of the machine that appears as /node, and may be written to. It also holds the root directory.
	Dir string
	// Programs appear in /node/bin, under the names that are the keys.
	Programs map[string]string
	// Address is the address of the node, as in 192.0.2.1/24; Services is the range of virtual addresses that get routed
	// to it.
	Address, Services string
}

// Listen makes a TCP listener in the namespace's network.
func (n *Namespace) Listen(ctx context.Context, network, address string) (listener net.Listener, err error) {
	failed := n.inside(func() error {
		var config net.ListenConfig
		listener, err = config.Listen(ctx, network, address)
		return err
	})
	if failed != nil {
		return nil, fmt.Errorf("listen on %s on the node: %w", address, failed)
	}
	return listener, nil
}

// DialContext connects to an IP address and port in the namespace's network.
func (n *Namespace) DialContext(ctx context.Context, network, address string) (connection net.Conn, err error) {
	failed := n.inside(func() error {
		var dialer net.Dialer
		connection, err = dialer.DialContext(ctx, network, address)
		return err
	})
	if failed != nil {
		return nil, fmt.Errorf("connect to %s on the node: %w", address, failed)
	}
	return connection, nil
}

// lastLine is the last line of output that is not empty.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
