package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/fair"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/optional"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// Options say how the controller runs.
type Options struct {
	// Secrets is a second cluster object, metadata only: its cache sees the
	// Secrets that specs name, which do not bear our label. The caller adds it
	// to the manager. Required.
	Secrets cluster.Cluster
	// KindsPeriod is the time between two looks for optional kinds, where the
	// Reconciler was not given the Kinds. Default a minute.
	KindsPeriod time.Duration
	// Workers is how many servers are looked at side by side. Default 1.
	Workers int
}

// SetupWithManager registers the controller, and the write of held keys at the
// end of the process. Package refs must have added its indices.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options Options) error {
	if r.Clients == nil || r.Resync <= 0 || options.Secrets == nil {
		return errors.New("set up the controller of TerdutServers: Clients, Resync and Options.Secrets are required")
	}
	r.fill(mgr)
	if err := r.fillKinds(mgr, options.KindsPeriod); err != nil {
		return err
	}
	changed := builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	built, err := r.watchLeaving(r.watchClaims(r.watchMirrors(ctrl.NewControllerManagedBy(mgr)))).
		Named("terdutserver").
		WithOptions(controller.Options{MaxConcurrentReconciles: options.Workers, NewQueue: fair.NewQueue}).
		For(&v1alpha1.TerdutServer{}, builder.WithPredicates(serverChanged())).
		Owns(&appsv1.Deployment{}, changed).
		Owns(&corev1.Service{}, changed).
		Owns(&corev1.Secret{}, changed).
		Watches(&v1alpha1.TerdutTeam{}, coalesced(serverOfTeam, gathered), builder.WithPredicates(attachmentChanged())).
		WatchesRawSource(source.Channel(r.Clients.Changes(), &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Kind(options.Secrets.GetCache(), secrets,
			handler.TypedEnqueueRequestsFromMapFunc(r.serversOfSecret),
			predicate.TypedResourceVersionChangedPredicate[*metav1.PartialObjectMetadata]{})).
		Build(r)
	if err == nil {
		err = r.watchKinds(built)
	}
	if err != nil {
		return fmt.Errorf("set up the controller of TerdutServers: %w", err)
	}
	if err = mgr.Add(r); err != nil {
		return fmt.Errorf("set up the write of held keys: %w", err)
	}
	return nil
}

// fill sets what was not given.
func (r *Reconciler) fill(mgr ctrl.Manager) {
	if r.Client == nil {
		r.Client = mgr.GetClient()
	}
	if r.Live == nil {
		r.Live = mgr.GetAPIReader()
	}
	if r.Engine == nil {
		r.Engine = apply.New(apply.Options{Client: r.Client, Live: r.Live, Scheme: mgr.GetScheme(), ProveOwner: true})
	}
	if r.Schedule == nil {
		r.Schedule = outcome.NewSchedule(r.Resync)
	}
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder(v1alpha1.ManagedBy)
	}
	if r.Now == nil {
		r.Now = time.Now
	}
}

// fillKinds makes the optional kinds, where nobody shares them.
func (r *Reconciler) fillKinds(mgr ctrl.Manager, period time.Duration) (err error) {
	if r.Kinds == nil {
		r.Kinds, err = optional.AddTo(mgr, period)
	}
	return err
}

// serverChanged passes what a pass reads of a server and leaves out its status,
// which only this controller writes.
func serverChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil) ||
			askedOf(e.ObjectOld) != askedOf(e.ObjectNew) ||
			!slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
}

// askedOf are the values of the annotations that this controller obeys.
func askedOf(o client.Object) [4]string {
	a := o.GetAnnotations()
	return [...]string{
		a[v1alpha1.AnnotationRotate], a[v1alpha1.AnnotationForceOrphan], a[v1alpha1.AnnotationPaused], a[v1alpha1.AnnotationReconcile],
	}
}

// attachmentChanged passes what counts for a server: whether a team holds
// something on it, and whether it is going.
func attachmentChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return attachmentOf(e.Object) != attachment{} },
		UpdateFunc: func(e event.UpdateEvent) bool { return attachmentOf(e.ObjectOld) != attachmentOf(e.ObjectNew) },
	}
}

type attachment struct {
	server  string
	pending bool
	going   bool
	letGo   bool
}

func attachmentOf(object client.Object) attachment {
	team, ok := object.(*v1alpha1.TerdutTeam)
	if !ok {
		return attachment{}
	}
	is := attachment{pending: team.Status.PendingCreate != nil, going: team.DeletionTimestamp != nil}
	is.letGo = is.going && !controllerutil.ContainsFinalizer(team, v1alpha1.Finalizer)
	if holds(team) {
		is.server = string(team.Status.Remote.ServerUID)
	}
	return is
}

func serverOfTeam(_ context.Context, object client.Object) []reconcile.Request {
	team, ok := object.(*v1alpha1.TerdutTeam)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: refs.ServerOf(team)}}
}

// serversOfSecret finds the servers whose spec names a Secret, or whose
// database was found to need it.
func (r *Reconciler) serversOfSecret(ctx context.Context, secret *metav1.PartialObjectMetadata) []reconcile.Request {
	named := r.list(ctx, client.InNamespace(secret.Namespace), client.MatchingFields{refs.ServersBySecret: secret.Name})
	users := r.databases.users(client.ObjectKeyFromObject(secret))
	requests := make([]reconcile.Request, 0, len(named)+len(users))
	for i := range named {
		r.trustAnew(&named[i], secret.Name)
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&named[i])})
	}
	for _, user := range users {
		requests = append(requests, reconcile.Request{NamespacedName: user})
	}
	return requests
}

// wantedKinds are the optional kinds that a server has to do with.
func wantedKinds(spec *v1alpha1.TerdutServerSpec) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	if kind, ref := clusterOf(&spec.Database); ref != nil {
		kinds = append(kinds, kind.GroupVersionKind)
	}
	if listenerOf(spec) != nil {
		kinds = append(kinds, routeKind)
	}
	return kinds
}

// watchKinds wakes servers by the optional kinds.
func (r *Reconciler) watchKinds(c controller.Controller) error {
	for _, kind := range []clusterKind{zalandoKind, cnpgKind} {
		servers := handler.EnqueueRequestsFromMapFunc(r.serversOfCluster(kind))
		if err := r.Kinds.Watch(c, kind.GroupVersionKind, servers, clusterChanged()); err != nil {
			return err
		}
	}
	owner := handler.EnqueueRequestForOwner(r.Client.Scheme(), r.Client.RESTMapper(), &v1alpha1.TerdutServer{}, handler.OnlyControllerOwner())
	return r.Kinds.Watch(c, routeKind, owner, predicate.ResourceVersionChangedPredicate{})
}

func (r *Reconciler) list(ctx context.Context, options ...client.ListOption) []v1alpha1.TerdutServer {
	servers := &v1alpha1.TerdutServerList{}
	if err := r.Client.List(ctx, servers, options...); err != nil {
		// The cache is there and indexed, or this controller would not run.
		logf.FromContext(ctx).Error(err, "list the TerdutServers that a Secret concerns")
		return nil
	}
	return servers.Items
}
