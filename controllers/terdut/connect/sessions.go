// Package connect turns a TerdutServer into an authenticated client of its
// API. Everything that talks to one server shares one session: one transport,
// one key, exchanged atomically when the credentials Secret changes, one token
// bucket, one circuit breaker and one snapshot of each list.
//
// Sessions owns the sessions, a session owns its gate, its tokens and its lists,
// and each of these guards itself with one lock that is never held over a call.
// A pass owns its Turn. While a server does not answer, one goroutine of its
// session probes it; it ends with the session.
package connect

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// defaultCAKey is read from a CA Secret when the reference names no key.
const defaultCAKey = "ca.crt"

// Options of the sessions.
type Options struct {
	// Reader reads credentials Secrets, which bear the operator's label. It
	// may be a cache.
	Reader client.Reader
	// Live reads Secrets that others made: those with a CA.
	Live client.Reader
	// Proxy is the forward proxy for every call; nil means none. The
	// environment's proxy is never used.
	Proxy *url.URL
	// APIServers are host:port of the API server, which is never called as if
	// it were a terdut-server.
	APIServers []string
	// AllowLoopback admits servers on loopback addresses. For tests.
	AllowLoopback bool
	// UserAgent names the operator and its version.
	UserAgent string
	// Transport replaces the network; nil means the real one. For tests.
	Transport http.RoundTripper
	// Limits bound what one server is asked.
	Limits Limits
	// Clock tells the time; nil means time.Now. For tests.
	Clock func() time.Time
}

// Sessions holds one session per TerdutServer. It is safe for concurrent use.
type Sessions struct {
	options Options
	guard   *guard

	// wakes tells what lives on a server, changes the server's own controller.
	wakes, changes bell

	mu   sync.Mutex
	open map[types.UID]*session
}

// New makes an empty set of sessions.
func New(o Options) *Sessions {
	o.Limits = o.Limits.orDefaults()
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Sessions{
		options: o,
		guard:   &guard{allowLoopback: o.AllowLoopback, apiServers: o.APIServers},
		open:    map[types.UID]*session{},
	}
}

// BaseURL is where the operator reaches a server: its Service, by name, or
// where an external one says it is.
func BaseURL(server *v1alpha1.TerdutServer) string {
	if server.Spec.External != nil {
		return server.Spec.External.URL
	}
	port := server.Spec.Networking.ServicePort
	if port == 0 {
		port = 8080
	}
	host := fmt.Sprintf("%s.%s.svc", server.Name, server.Namespace)
	return "http://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// PublicURL is where people and alert sources reach a server: its hostname, or
// where the operator does when it has none.
func PublicURL(server *v1alpha1.TerdutServer) string {
	if server.Spec.Networking.Hostname != "" {
		return "https://" + server.Spec.Networking.Hostname
	}
	return BaseURL(server)
}

// Client is a client with the given key, which is not checked; an empty one
// makes an anonymous client. It is for finding an identity; everything else
// uses For.
func (s *Sessions) Client(ctx context.Context, server *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error) {
	one, err := s.session(ctx, server)
	if err != nil {
		return nil, err
	}
	// The server's own controller waits like everybody else while the server is
	// silent: nothing but the probe calls it then.
	return one.client(s.options.UserAgent, func() string { return key },
		terdutapi.WithRequestEditorFn(func(context.Context, *http.Request) error { return one.gate.check() }))
}

// For is the access of one pass to a server, on behalf of a namespace. A server
// that the operator has no key for yet is an outcome, and so is one that is
// known not to answer. Whether the server is up, and still accepts the key,
// shows otherwise when it is called: a server that is down for a moment must not
// look like one that was never there.
func (s *Sessions) For(ctx context.Context, server *v1alpha1.TerdutServer, namespace string) (*Turn, error) {
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
	one, err := s.session(ctx, server)
	if err != nil {
		return nil, err
	}
	one.key.Store(&key)
	if err := one.gate.check(); err != nil {
		return nil, Explain(err, v1alpha1.ConditionSynced, fmt.Sprintf("reach TerdutServer %s/%s", server.Namespace, server.Name))
	}
	return &Turn{session: one, namespace: namespace}, nil
}

// session finds or opens the session of a server.
func (s *Sessions) session(ctx context.Context, server *v1alpha1.TerdutServer) (*session, error) {
	base, ca := BaseURL(server), caRef(server)
	s.mu.Lock()
	one, ok := s.open[server.UID]
	s.mu.Unlock()
	if ok && one.base == base && one.ca == ca {
		return one, nil
	}
	fresh, err := s.dial(ctx, server, base, ca)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	other, raced := s.open[server.UID]
	if raced && other.base == base && other.ca == ca {
		fresh.end()
		return other, nil
	}
	if raced {
		other.close()
	}
	s.open[server.UID] = fresh
	return fresh, nil
}

// dial makes a session. Nothing is connected to before the first call.
func (s *Sessions) dial(ctx context.Context, server *v1alpha1.TerdutServer, base string, ca v1alpha1.SecretKeyRef) (*session, error) {
	roots, err := s.roots(ctx, server.Namespace, ca)
	if err != nil {
		return nil, err
	}
	one := &session{base: base, ca: ca, http: &http.Client{Transport: s.transport(roots), Timeout: s.options.Limits.Call}}
	none := ""
	one.key.Store(&none)
	one.life, one.end = context.WithCancel(context.Background())
	s.equip(one, server)
	if one.api, err = one.client(s.options.UserAgent, func() string { return *one.key.Load() }); err != nil {
		one.end()
		return nil, err
	}
	return one, nil
}

// roots reads the certificate authority that a server's certificate is checked
// against; nil means the system's.
func (s *Sessions) roots(ctx context.Context, namespace string, ref v1alpha1.SecretKeyRef) (*x509.CertPool, error) {
	if ref.Name == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := s.options.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonSecretNotFound,
			"spec.external.caSecretRef: Secret %q does not exist in namespace %q: create it", ref.Name, namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("read the CA in Secret %s/%s: %w", namespace, ref.Name, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(secret.Data[ref.Key]) {
		return nil, outcome.Waiting(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonSecretKeyMissing,
			"spec.external.caSecretRef: key %q of Secret %q holds no PEM certificate: set it", ref.Key, ref.Name)
	}
	return pool, nil
}

func caRef(server *v1alpha1.TerdutServer) v1alpha1.SecretKeyRef {
	if server.Spec.External == nil || server.Spec.External.CASecretRef == nil || server.Spec.External.CASecretRef.Name == "" {
		return v1alpha1.SecretKeyRef{}
	}
	ref := *server.Spec.External.CASecretRef
	if ref.Key == "" {
		ref.Key = defaultCAKey
	}
	return ref
}

// Close ends the session of a server that is gone, or whose CA has changed: the
// next call opens it anew.
func (s *Sessions) Close(uid types.UID) {
	s.mu.Lock()
	one, ok := s.open[uid]
	delete(s.open, uid)
	s.mu.Unlock()
	if ok {
		one.close()
	}
}

// Start implements manager.Runnable: it ends every session with the manager.
func (s *Sessions) Start(ctx context.Context) error {
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid, one := range s.open {
		one.close()
		delete(s.open, uid)
	}
	return nil
}
