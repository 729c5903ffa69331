package connect

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// transport is the network towards one server. roots are the certificates that
// its own is checked against; nil means those of the system. The size of an
// answer is bounded by terdutapi, which also refuses a redirect to another
// scheme, host or port.
//
// Behind a forward proxy it is the proxy that is dialled, and the proxy that
// has to refuse addresses.
func (s *Sessions) transport(roots *x509.CertPool) http.RoundTripper {
	if s.options.Transport != nil {
		return s.options.Transport
	}
	t := &http.Transport{
		DialContext:           s.guard.dialer().DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   4,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: s.options.Limits.Call,
	}
	if s.options.Proxy != nil {
		t.Proxy = http.ProxyURL(s.options.Proxy)
		t.DialContext = dialProxy.DialContext
	}
	return t
}

// client makes a client on the session's network.
func (one *session) client(agent string, key terdutapi.KeyFunc, more ...terdutapi.ClientOption) (*terdutapi.Client, error) {
	options := []terdutapi.ClientOption{terdutapi.WithHTTPClient(one.http), terdutapi.WithKey(key), terdutapi.WithUserAgent(agent)}
	return terdutapi.New(one.base, append(options, more...)...)
}
