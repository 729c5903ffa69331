package server

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// refusal is a namespace that has been told to get no copy.
type refusal struct {
	server    types.UID
	namespace string
}

// watchMirrors wakes the servers that copy their key: when a team comes or
// goes, when a namespace changes its labels or goes, and when a copy changes.
// Servers of other modes are not woken by any of it.
func (r *Reconciler) watchMirrors(b *builder.Builder) *builder.Builder {
	comesOrGoes := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return (e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	}}
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetAnnotations()[v1alpha1.AnnotationMirrorOf] != "" })
	if r.Scope.Whole() { // else the resync finds it
		b = b.WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.mirroringServersOfNamespace),
			builder.WithPredicates(predicate.Or[client.Object](predicate.LabelChangedPredicate{}, comesOrGoes)))
	}
	return b.
		Watches(&v1alpha1.TerdutTeam{}, handler.EnqueueRequestsFromMapFunc(r.mirroringServerOfTeam), builder.WithPredicates(comesOrGoes)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(serverOfMirror),
			builder.WithPredicates(ours, predicate.ResourceVersionChangedPredicate{}))
}

func (r *Reconciler) mirroringServerOfTeam(ctx context.Context, object client.Object) []reconcile.Request {
	team, ok := object.(*v1alpha1.TerdutTeam)
	if !ok {
		return nil
	}
	return r.mirroring(ctx, refs.ServerOf(team))
}

func (r *Reconciler) mirroringServersOfNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	namespace, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil
	}
	teams := &v1alpha1.TerdutTeamList{}
	if err := r.Client.List(ctx, teams, client.InNamespace(namespace.Name)); err != nil {
		// A namespace that is not watched has no team that counts.
		logf.FromContext(ctx).V(1).Info("no teams of a Namespace in the cache", "namespace", namespace.Name, "cause", err.Error())
		return nil
	}
	var requests []reconcile.Request
	for i := range teams.Items {
		requests = append(requests, r.mirroring(ctx, refs.ServerOf(&teams.Items[i]))...)
	}
	return requests
}

// mirroring wakes a server if it copies its key, or has done so.
func (r *Reconciler) mirroring(ctx context.Context, key types.NamespacedName) []reconcile.Request {
	server := &v1alpha1.TerdutServer{}
	if err := r.Client.Get(ctx, key, server); err != nil {
		return nil // a server that is not there copies nothing
	}
	asked, copies := server.Spec.Credentials, server.Status.Credentials
	if (asked == nil || asked.Mode != v1alpha1.CredentialsMirrored) && (copies == nil || copies.Mirrors == 0) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key}}
}

func serverOfMirror(_ context.Context, object client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(object.GetAnnotations()[v1alpha1.AnnotationMirrorOf], "/")
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
