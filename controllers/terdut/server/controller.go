package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/optional"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/scope"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutservers,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutservers/status,verbs=patch
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutservers/finalizers,verbs=update
// +kubebuilder:rbac:groups=terdut.ryuvia.com,resources=terdutteams,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=acid.zalan.do,resources=postgresqls,verbs=get;list;watch
// +kubebuilder:rbac:groups=postgresql.cnpg.io,resources=clusters,verbs=get;list;watch

// Clients makes clients of the terdut-server that a TerdutServer stands for.
type Clients interface {
	// Client returns a client that sends key; an empty key sends none.
	Client(ctx context.Context, server *v1alpha1.TerdutServer, key string) (*terdutapi.Client, error)
	// Close forgets a server that is gone.
	Close(uid types.UID)
	// Silent tells whether a server is known not to answer.
	Silent(uid types.UID) bool
	// Changes tells of a server when it falls silent and when it answers again.
	Changes() <-chan event.GenericEvent
}

// Reconciler installs one terdut-server for each TerdutServer. Clients and
// Resync are required; SetupWithManager fills in what else is not set.
type Reconciler struct {
	// Clients reach the servers.
	Clients Clients
	// Resync is the time between two looks at a settled server. The operator's
	// key is tried once in it.
	Resync time.Duration
	// Client reads from the manager's cache and writes. The cache must hold
	// managedFields of Deployments and Services, Secrets that bear our label,
	// and the indices of package refs.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Engine converges the children.
	Engine *apply.Engine
	// Schedule knows when to look again.
	Schedule *outcome.Schedule
	// Recorder takes the Events.
	Recorder events.EventRecorder
	// Now tells the time.
	Now func() time.Time

	// Scope is what the operator looks at. The zero value is the whole cluster.
	Scope scope.Scope

	// Kinds watches the clusters that databases are in, while their kinds are
	// served.
	Kinds *optional.Kinds

	memory memory
	// written is what was last written of each status.
	written   status.Written
	databases databaseMemory
	// refusals are the namespaces of which it was told that they get no copy
	// of a key, by refusal.
	refusals sync.Map
}

// prunable are the kinds of which a child that is no longer rendered is
// deleted. Nothing that holds data is among them.
var prunable = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	corev1.SchemeGroupVersion.WithKind("Service"),
}

// prunableFor adds the route once none is wanted: one that cannot be rendered
// now is not unwanted.
func prunableFor(spec *v1alpha1.TerdutServerSpec) []schema.GroupVersionKind {
	if listenerOf(spec) != nil {
		return prunable
	}
	return append(slices.Clone(prunable), routeKind)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if !r.Scope.Sees(req.Namespace) {
		return ctrl.Result{}, nil // a reference or a mark leads out of what is watched
	}
	server := &v1alpha1.TerdutServer{}
	if err := r.Client.Get(ctx, req.NamespacedName, server); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			return r.lookAgain(ctrl.Result{}, r.letGo(ctx, req.NamespacedName, ""))
		}
		return ctrl.Result{}, fmt.Errorf("read TerdutServer %s: %w", req.NamespacedName, err)
	}
	if r.written.Outdated(server, r.Now()) {
		return r.Schedule.LookAgain(), nil
	}
	if server.DeletionTimestamp != nil {
		result, err := r.finalize(ctx, server)
		return r.lookAgain(result, err)
	}
	if r.paused(server) {
		return r.pause(ctx, server)
	}
	// Before anything is made, so that nothing of it is forgotten.
	if err := r.setFinalizer(ctx, server, controllerutil.AddFinalizer); err != nil {
		return r.lookAgain(ctrl.Result{}, err)
	}
	seen, err := r.converge(ctx, server)
	return r.report(ctx, server, seen, err)
}

// converge reads, renders, applies, and sees to the operator's key. What it
// returns holds after an error as well.
func (r *Reconciler) converge(ctx context.Context, server *v1alpha1.TerdutServer) (Seen, error) {
	seen := Seen{Teams: server.Status.AttachedTeams, Unwatched: r.unwatched(server)}
	teams, err := r.teams(ctx, server)
	if err != nil {
		return seen, err
	}
	seen.Teams, seen.KeysIssued = attached(teams), issued(teams)
	if seen.Claims, err = r.claims(ctx, server); err != nil {
		return seen, err
	}
	mirrored, err := r.wantedMirrors(ctx, r.Client, server, teams)
	if err != nil {
		return seen, err
	}
	if err = r.retract(ctx, server, mirrored); err != nil {
		return seen, err
	}
	if server.Spec.External != nil {
		err = r.external(ctx, server, &seen)
	} else {
		err = r.install(ctx, server, &seen)
	}
	if err == nil && seen.Identity != nil {
		seen.Tenants, err = r.grant(ctx, server, mirrored)
	}
	return seen, err
}

// install makes the children of a server that runs here, and sees to the
// operator's key on it.
func (r *Reconciler) install(ctx context.Context, server *v1alpha1.TerdutServer, seen *Seen) (err error) {
	if seen.Deployment, err = r.deployment(ctx, server); err != nil {
		return err
	}
	r.Kinds.Want(client.ObjectKeyFromObject(server), wantedKinds(&server.Spec)...)
	if err = r.ensureHMACKey(ctx, server); err != nil {
		return err
	}
	in, err := r.read(ctx, server)
	if in.Database.DSN != "" {
		seen.Database = &in.Database
	}
	if err != nil {
		return err
	}
	if seen.Running, err = r.running(ctx, server, seen); err != nil {
		return err
	}
	if in.Selector, err = r.selectorOf(ctx, server, seen.Deployment); err != nil {
		return err
	}
	if seen.Route, err = r.route(ctx, server); err != nil {
		return err
	}
	in.Route = seen.Route != nil && seen.Route.Claimed && seen.Route.Served
	if err = r.children(ctx, server, in, seen); err != nil {
		return err
	}
	if err = r.dropHMACKey(ctx, server); err != nil {
		return err
	}
	seen.Identity, err = r.identify(ctx, server, serves(seen.Deployment))
	return err
}

// children takes over, applies and prunes what is rendered, and looks at the
// pods.
func (r *Reconciler) children(ctx context.Context, server *v1alpha1.TerdutServer, in Inputs, seen *Seen) error {
	if err := r.takeOver(ctx, server, in); err != nil {
		return err
	}
	before := records(server.Status.Children)
	done, err := r.Engine.Converge(ctx, server, before, Render(in), prunableFor(&server.Spec), r.remember(server))
	r.tell(server, done.Changes)
	seen.Records = done.Records
	if live, ok := done.Object("Deployment", server.Name).(*appsv1.Deployment); ok {
		seen.Deployment = live
	}
	if live, ok := done.Object(routeKind.Kind, server.Name).(*unstructured.Unstructured); ok && seen.Route != nil {
		seen.Route.Object = live
	}
	if err != nil {
		return err
	}
	seen.Fields = &Fields{Ceded: done.Ceded, Contested: done.Contested}
	seen.Converged = true
	seen.Pods, err = r.pods(ctx, seen.Deployment)
	return err
}

// forget drops what is remembered of a server that is gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	for _, uid := range r.memory.forget(key) {
		r.Clients.Close(uid)
	}
	r.databases.forget(key)
	r.Kinds.Want(key)
	r.Schedule.Gone(key)
}

func (r *Reconciler) lookAgain(result ctrl.Result, err error) (ctrl.Result, error) {
	if apply.IsLookAgain(err) {
		return r.Schedule.LookAgain(), nil
	}
	return result, err
}

// recheck is the age at which an accepted key is tried again. A resync comes
// after nine tenths of its time at the earliest.
func (r *Reconciler) recheck() time.Duration { return r.Resync * 8 / 10 }
