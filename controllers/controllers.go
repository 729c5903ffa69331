// Package controllers is the list of everything that the operator runs.
package controllers

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/optional"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/alertsource"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/attach"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/deadman"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/escalation"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/scope"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/server"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/team"
)

const (
	// name of the operator in Events and towards the servers.
	name = "terdut-operator"
	// workers is how many objects of one kind are looked at side by side.
	workers = 4
	// reconcileTimeout ends a pass that hangs; the calls in it end sooner.
	reconcileTimeout = 2 * time.Minute
)

// Options say how the controllers run.
type Options struct {
	// Resync is the time between two looks at a settled object.
	Resync time.Duration
	// Namespaces are those that the operator looks at; none means all. The
	// manager must have been made with the same ones.
	Namespaces []string
	// OptionalPeriod is the time between two looks for kinds that somebody else
	// installs, such as those of PostgreSQL operators. Default a minute.
	OptionalPeriod time.Duration
	// Limits bound what one server is asked; Window follows Resync.
	Limits connect.Limits
	// Clock tells all controllers and the sessions with servers the time; nil
	// means time.Now. For tests.
	Clock func() time.Time
	// Proxy is the forward proxy for calls to servers; nil means none.
	Proxy *url.URL
	// AllowLoopback admits servers on loopback addresses. For tests.
	AllowLoopback bool
	// Transport replaces the network towards servers; nil means the real one.
	// For tests.
	Transport http.RoundTripper
}

// Scheme knows every type that the operator reads and writes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// ManagerOptions are the options of a manager that Register can be called
// with; the caller adds addresses and leader election. With namespaces, nothing
// is cached, and nothing listed, of any other.
//
// The cache holds managedFields of the kinds that are applied, and strips them
// from all others. Of these kinds, and of Secrets, it holds what bears the
// operator's label. The label is a filter and proves nothing: what the cache
// does not show is read live before anything rests on its absence.
func ManagerOptions(namespaces ...string) ctrl.Options {
	ours := cache.ByObject{
		Label:     labels.SelectorFromSet(labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}),
		Transform: func(o any) (any, error) { return o, nil },
	}
	return ctrl.Options{
		Scheme: Scheme(),
		Cache: cache.Options{
			DefaultNamespaces:        scope.Of(namespaces...).Cached(),
			DefaultTransform:         cache.TransformStripManagedFields(),
			DefaultWatchErrorHandler: optional.WatchErrorHandler,
			ByObject: map[client.Object]cache.ByObject{
				&appsv1.Deployment{}: ours,
				&corev1.Service{}:    ours,
				&corev1.Secret{}:     ours,
			},
		},
		Controller: config.Controller{MaxConcurrentReconciles: workers, ReconciliationTimeout: reconcileTimeout},
		NewClient:  NewClient,
	}
}

// NewClient makes the client of a manager. Everything that the operator applies
// has to go through one of these: the API server reads some characters of an apply
// otherwise than they were meant.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	if options.HTTPClient == nil {
		config = rest.CopyConfig(config)
		config.Wrap(apply.Escaped)
		return client.New(config, options)
	}
	through := *options.HTTPClient
	through.Transport = apply.Escaped(cmp.Or(through.Transport, http.DefaultTransport))
	options.HTTPClient = &through
	return client.New(config, options)
}

// Register adds everything that the operator runs to the manager.
func Register(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := refs.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	watched := scope.Of(o.Namespaces...)
	live := watched.Live(mgr.GetAPIReader())
	secrets, err := namedSecrets(mgr, watched)
	if err != nil {
		return err
	}
	kinds, err := optional.AddTo(mgr, o.OptionalPeriod)
	if err != nil {
		return err
	}
	o.Limits.Window = o.Resync
	sessions := connect.New(connect.Options{
		Limits: o.Limits, Clock: o.Clock,
		Reader: mgr.GetClient(), Live: live, UserAgent: name,
		Proxy: o.Proxy, AllowLoopback: o.AllowLoopback, Transport: o.Transport, APIServers: apiServers(mgr.GetConfig()),
	})
	if err := mgr.Add(sessions); err != nil {
		return fmt.Errorf("set up the sessions with servers: %w", err)
	}
	engine := apply.New(apply.Options{Client: mgr.GetClient(), Live: live, Scheme: mgr.GetScheme(), Resync: o.Resync, ProveOwner: true})

	servers := &server.Reconciler{
		Client: mgr.GetClient(), Live: live, Engine: engine, Clients: sessions, Scope: watched,
		Recorder: mgr.GetEventRecorder(name), Schedule: outcome.NewSchedule(o.Resync), Resync: o.Resync, Kinds: kinds,
		Now: o.Clock,
	}
	if err := servers.SetupWithManager(mgr, server.Options{Secrets: secrets}); err != nil {
		return err
	}

	resolver := &attach.Resolver{Client: mgr.GetClient(), Live: live, Sessions: sessions, Scope: watched}
	for _, setup := range []func(context.Context, ctrl.Manager, attach.Deps) error{
		team.Setup, escalation.Setup, deadman.Setup, alertsource.Setup,
	} {
		deps := attach.Deps{
			Client: mgr.GetClient(), Live: live, Engine: engine, Resolver: resolver,
			Recorder: mgr.GetEventRecorder(name), Schedule: outcome.NewSchedule(o.Resync), Now: o.Clock,
			Secrets: secrets,
		}
		if err := setup(ctx, mgr, deps); err != nil {
			return err
		}
	}
	return nil
}

// apiServers are host:port of the API server: as the operator reaches it, and
// as pods do.
func apiServers(cfg *rest.Config) []string {
	var out []string
	if u, err := url.Parse(cfg.Host); err == nil && u.Host != "" {
		port := u.Port()
		if port == "" {
			port = "443"
		}
		out = append(out, net.JoinHostPort(u.Hostname(), port))
	}
	if host := os.Getenv("KUBERNETES_SERVICE_HOST"); host != "" {
		out = append(out, net.JoinHostPort(host, os.Getenv("KUBERNETES_SERVICE_PORT")))
	}
	return out
}

// namedSecrets is a second cache, for the Secrets that specs name: they do not
// bear our label, and the manager's cache has one filter per kind. It holds
// metadata only, without annotations, since kubectl keeps whole values in one.
func namedSecrets(mgr ctrl.Manager, watched scope.Scope) (cluster.Cluster, error) {
	secrets, err := cluster.New(mgr.GetConfig(), func(o *cluster.Options) {
		o.Scheme = mgr.GetScheme()
		o.HTTPClient = mgr.GetHTTPClient()
		o.Cache = cache.Options{DefaultTransform: identityOnly, DefaultNamespaces: watched.Cached()}
	})
	if err != nil {
		return nil, fmt.Errorf("set up the cache of named Secrets: %w", err)
	}
	if err := mgr.Add(secrets); err != nil {
		return nil, fmt.Errorf("add the cache of named Secrets: %w", err)
	}
	return secrets, nil
}

// identityOnly keeps of an object what tells that it has changed.
func identityOnly(o any) (any, error) {
	if obj, ok := o.(client.Object); ok {
		obj.SetAnnotations(nil)
		obj.SetManagedFields(nil)
		obj.SetOwnerReferences(nil)
		obj.SetFinalizers(nil)
	}
	return o, nil
}
