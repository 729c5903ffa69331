// Package connect turns a TerdutServer into an authenticated client of its
// API. Everything that talks to one server shares one session: one transport
// and one key, exchanged atomically when the credentials Secret changes.
package connect

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// callTimeout bounds one call, reading the answer included: nothing blocks a
// reconcile for long.
const callTimeout = 10 * time.Second

// Options of the sessions.
type Options struct {
	// Reader reads credentials Secrets, which bear the operator's label. It
	// may be a cache.
	Reader client.Reader
	// Proxy is the forward proxy for every call; nil means none. The
	// environment's proxy is never used.
	Proxy *url.URL
	// UserAgent names the operator and its version.
	UserAgent string
	// Transport replaces the network; nil means the real one. For tests.
	Transport http.RoundTripper
}

// Sessions holds one session per TerdutServer. It is safe for concurrent use.
type Sessions struct {
	options Options
	http    *http.Client

	mu   sync.Mutex
	open map[types.UID]*session
}

// session is the access to one server. The key is read anew for each request.
type session struct {
	base string
	key  atomic.Pointer[string]
	api  *terdutapi.Client
}

// New makes an empty set of sessions.
func New(o Options) *Sessions {
	transport := o.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy:                 http.ProxyURL(o.Proxy),
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost:   4,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   5 * time.Second,
			ResponseHeaderTimeout: callTimeout,
		}
	}
	return &Sessions{
		options: o,
		http:    &http.Client{Transport: transport, Timeout: callTimeout},
		open:    map[types.UID]*session{},
	}
}

// BaseURL is where the operator reaches a server: its Service, by name.
func BaseURL(server *v1alpha1.TerdutServer) string {
	port := server.Spec.Networking.ServicePort
	if port == 0 {
		port = 8080
	}
	host := fmt.Sprintf("%s.%s.svc", server.Name, server.Namespace)
	return "http://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// PublicURL is where people and alert sources reach a server: its hostname, or
// its Service where it has none.
func PublicURL(server *v1alpha1.TerdutServer) string {
	if server.Spec.Networking.Hostname != "" {
		return "https://" + server.Spec.Networking.Hostname
	}
	return BaseURL(server)
}

// Client is a client with the given key, which is not checked; an empty one
// makes an anonymous client. It is for finding an identity; everything else
// uses For.
func (s *Sessions) Client(server *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	return s.client(BaseURL(server), func() string { return key })
}

// For is the client of everything that lives on a server. A server that the
// operator has no key for yet is an outcome, not an error. Whether the server
// is up, and still accepts the key, shows when it is called: a server that is
// down for a moment must not look like one that was never there.
func (s *Sessions) For(ctx context.Context, server *v1alpha1.TerdutServer) (*terdutapi.Client, error) {
	ref := server.Status.OperatorCredentialsSecretRef
	if ref == nil {
		return nil, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonWaitingForServer,
			"TerdutServer %s/%s is not bootstrapped yet", server.Namespace, server.Name)
	}
	secret := &corev1.Secret{}
	err := s.options.Reader.Get(ctx, types.NamespacedName{Namespace: server.Namespace, Name: ref.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read credentials of TerdutServer %s/%s: %w", server.Namespace, server.Name, err)
	}
	key := string(secret.Data[v1alpha1.CredentialsKey])
	if apierrors.IsNotFound(err) || key == "" {
		return nil, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonWaitingForServer,
			"the operator has no key for TerdutServer %s/%s at the moment", server.Namespace, server.Name)
	}
	return s.session(server, key)
}

// session finds or opens the session of a server and gives it the key.
func (s *Sessions) session(server *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.open[server.UID]
	if !ok || one.base != BaseURL(server) {
		one = &session{base: BaseURL(server)}
		api, err := s.client(one.base, func() string { return *one.key.Load() })
		if err != nil {
			return nil, err
		}
		one.api = api
		s.open[server.UID] = one
	}
	one.key.Store(&key)
	return one.api, nil
}

// Close forgets the session of a server that is gone.
func (s *Sessions) Close(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, uid)
}

func (s *Sessions) client(base string, key terdutapi.KeyFunc) (*terdutapi.Client, error) {
	return terdutapi.New(base, terdutapi.WithHTTPClient(s.http), terdutapi.WithKey(key), terdutapi.WithUserAgent(s.options.UserAgent))
}
