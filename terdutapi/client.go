// Package terdutapi is the Go client of terdut-server's REST API.
//
// The types and one method per operation are generated from openapi/terdut.yaml. [New] puts a guarded transport
// under them: a request carries the current key and goes to the given server only, an answer is bounded and
// checked before anything is read from it, and every failure is a typed error that cannot contain a key.
//
// The methods of [Client] return values of the server and cover what a machine needs; [Client.Generated] gives
// every other operation through the same transport. Clients made by the generated NewClient and
// NewClientWithResponses have none of these guards.
package terdutapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// DefaultTimeout bounds a whole call, reading the answer included, where the HTTP client sets no time-out
	// of its own.
	DefaultTimeout = 30 * time.Second

	// DefaultUserAgent is sent unless WithUserAgent says otherwise.
	DefaultUserAgent = "terdutapi"

	// MaxBody is the largest answer that is read, in bytes.
	MaxBody = 1 << 20
)

// ErrUnusableKey says that a key holds characters that cannot travel in a header. The error never shows it.
var ErrUnusableKey = errors.New("the API key cannot travel in a header: it holds control characters, spaces or non-ASCII")

// KeyFunc returns the API key to use now. It is called once per request, possibly from several goroutines, so
// that a key can be exchanged while the client is in use. An empty key sends no Authorization header.
type KeyFunc func() string

// Client calls one terdut-server. It is safe for concurrent use.
type Client struct {
	raw *RawClient
}

// New returns a client for the server at baseURL: http or https, with a host, without userinfo, query and
// fragment. A path is kept as a prefix. Options are this package's and the generated WithHTTPClient (an
// *http.Client, of which a copy is used) and WithRequestEditorFn.
//
// A client without WithKey or WithAPIKey can call Health and Bootstrap only.
func New(baseURL string, opts ...ClientOption) (*Client, error) {
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	raw, err := NewClient(base.String(), opts...)
	if err != nil {
		return nil, fmt.Errorf("set up client: %w", err)
	}
	given, ok := raw.Client.(*http.Client)
	if !ok || given == nil {
		return nil, errors.New("set up client: WithHTTPClient needs an *http.Client; to replace the network, set its Transport")
	}
	own := *given
	own.CheckRedirect = checkRedirect
	if own.Timeout == 0 {
		own.Timeout = DefaultTimeout
	}
	raw.Client = &guard{http: &own, prefix: strings.TrimSuffix(base.Path, "/")}
	return &Client{raw: raw}, nil
}

// WithKey takes the key for each request from f.
func WithKey(f KeyFunc) ClientOption {
	return WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
		req.Header.Del("Authorization")
		key := f()
		if key == "" {
			return nil
		}
		if !travels(key) {
			return ErrUnusableKey
		}
		req.Header.Set("Authorization", "Bearer "+key)
		return nil
	})
}

// WithAPIKey uses one key for every request.
func WithAPIKey(key string) ClientOption {
	return WithKey(func() string { return key })
}

// WithUserAgent names the calling program, such as "terdut-operator/v1.2.0".
func WithUserAgent(agent string) ClientOption {
	return WithRequestEditorFn(func(_ context.Context, req *http.Request) error {
		req.Header.Set("User-Agent", agent)
		return nil
	})
}

// Generated returns the generated client, which has a method for every operation. It uses the same guarded
// transport: any answer but success is an *[Error]. What its methods return holds the answer's bytes as they
// came, keys included, and its decoding errors may quote them; neither belongs into a log.
func (c *Client) Generated() *ClientWithResponses {
	return &ClientWithResponses{ClientInterface: c.raw}
}

// parseBase accepts what New documents. Its errors show nothing of the value, which may hold a password.
func parseBase(raw string) (*url.URL, error) {
	base, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("the server's URL cannot be parsed: give it as https://host[:port][/prefix]")
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("the server's URL must begin with https:// or http://")
	case base.Hostname() == "":
		return nil, errors.New("the server's URL has no host: give it as https://host[:port][/prefix]")
	case base.User != nil:
		return nil, errors.New("the server's URL must not carry a user or password: the key goes into its own option")
	case base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, errors.New("the server's URL must have neither query nor fragment")
	}
	return base, nil
}

// travels reports whether a key can stand in a header value: visible ASCII only.
func travels(key string) bool {
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return true
}
