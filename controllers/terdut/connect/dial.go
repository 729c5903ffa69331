package connect

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// AddressRefused is a connection that was not made: the address is one that no
// server of a tenant can be behind. It is decided on the address that is
// dialled, after resolution, so that a name cannot be pointed there later.
type AddressRefused struct {
	// What the address is, such as "a loopback address".
	What string
}

// Error implements error. It shows no address: what a name resolves to is not
// for everybody who can write a URL.
func (e *AddressRefused) Error() string { return "the server's name leads to " + e.What }

// metadata are addresses of cloud metadata services outside the link-local
// ranges.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("192.0.0.192"),
}

// guard checks every address before it is connected to.
type guard struct {
	allowLoopback bool
	// apiServers are host:port of the API server. It is refused with its port
	// only: other things may share its address.
	apiServers []string
}

// check tells why an address may not be dialled; nil means it may. Private
// ranges are allowed on purpose: ClusterIPs and company networks live there.
func (g *guard) check(at netip.AddrPort) error {
	addr := at.Addr().Unmap()
	switch {
	case addr.IsLoopback():
		if g.allowLoopback {
			return nil
		}
		return &AddressRefused{What: "a loopback address"}
	case addr.IsUnspecified():
		return &AddressRefused{What: "the unspecified address"}
	case addr.IsLinkLocalUnicast(), addr.IsLinkLocalMulticast(), addr.IsInterfaceLocalMulticast():
		return &AddressRefused{What: "a link-local address"}
	case addr.IsMulticast():
		return &AddressRefused{What: "a multicast address"}
	}
	if slices.Contains(metadata, addr) {
		return &AddressRefused{What: "a cloud metadata service"}
	}
	return nil
}

// checkAPIServer refuses the API server's own address and port.
func (g *guard) checkAPIServer(ctx context.Context, at netip.AddrPort) error {
	for _, hostport := range g.apiServers {
		host, port, err := net.SplitHostPort(hostport)
		if err != nil || port != strconv.Itoa(int(at.Port())) {
			continue
		}
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			continue // a name that leads nowhere is not what was dialled
		}
		if slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Unmap() == at.Addr().Unmap() }) {
			return &AddressRefused{What: "the API server"}
		}
	}
	return nil
}

// dialer dials what the guard lets pass.
func (g *guard) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout: 5 * time.Second,
		ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("read the address to dial: %w", err)
			}
			if refused := g.check(at); refused != nil {
				return refused
			}
			return g.checkAPIServer(ctx, at)
		},
	}
}

// dialProxy dials the proxy that the operator was started with, wherever it is.
var dialProxy = &net.Dialer{Timeout: 5 * time.Second}
