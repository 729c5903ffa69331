package connect

import (
	"errors"
	"net/netip"
	"testing"
)

func TestGuardRefusesWhatNoServerIsBehind(t *testing.T) {
	g := &guard{apiServers: []string{"10.0.0.1:443", "[fd00::1]:6443"}}
	for address, want := range map[string]string{
		"127.0.0.1:8080":          "a loopback address",
		"127.8.9.10:80":           "a loopback address",
		"[::1]:80":                "a loopback address",
		"[::ffff:127.0.0.1]:80":   "a loopback address",
		"0.0.0.0:80":              "the unspecified address",
		"[::]:80":                 "the unspecified address",
		"169.254.169.254:80":      "a link-local address",
		"[fe80::1]:80":            "a link-local address",
		"224.0.0.1:80":            "a link-local address",
		"239.1.2.3:80":            "a multicast address",
		"[ff02::1]:80":            "a link-local address",
		"[fd00:ec2::254]:80":      "a cloud metadata service",
		"100.100.100.200:80":      "a cloud metadata service",
		"10.0.0.1:443":            "the API server",
		"[fd00::1]:6443":          "the API server",
		"10.0.0.1:8080":           "",
		"10.96.0.10:8080":         "",
		"192.168.1.1:443":         "",
		"[fd00::2]:6443":          "",
		"93.184.216.34:443":       "",
		"[2606:2800:220:1::1]:80": "",
	} {
		at := netip.MustParseAddrPort(address)
		err := g.check(at)
		if err == nil {
			err = g.checkAPIServer(t.Context(), at)
		}
		got := ""
		var refused *AddressRefused
		if errors.As(err, &refused) {
			got = refused.What
		}
		if got != want {
			t.Errorf("%s: refused as %q, want %q", address, got, want)
		}
	}
}

func TestGuardAdmitsLoopbackOnlyWhenAsked(t *testing.T) {
	g := &guard{allowLoopback: true}
	if err := g.check(netip.MustParseAddrPort("127.0.0.1:80")); err != nil {
		t.Errorf("loopback refused although allowed: %v", err)
	}
	if err := g.check(netip.MustParseAddrPort("169.254.169.254:80")); err == nil {
		t.Error("the metadata address passed with loopback allowed")
	}
}
