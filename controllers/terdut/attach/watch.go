package attach

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// Deps is what every kind that lives on a server is made from.
type Deps struct {
	Client   client.Client
	Live     client.Reader
	Engine   *apply.Engine
	Resolver *Resolver
	Recorder events.EventRecorder
	Schedule *outcome.Schedule
	// Secrets sees the Secrets that specs name, which do not bear our label;
	// metadata only.
	Secrets cluster.Cluster
	// Now tells the time; nil means time.Now. For tests.
	Now func() time.Time
}

// Spec passes the changes of an object that its own controller acts on. Its
// own status writes are not among them.
func Spec() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, now := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != now.GetGeneration() ||
			before.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero() ||
			!equality.Semantic.DeepEqual(before.GetAnnotations(), now.GetAnnotations()) ||
			len(now.GetFinalizers()) < len(before.GetFinalizers())
	}}
}

// ServerUse passes the changes of a TerdutServer that its teams act on:
// consent, address, credential, identity, deletion.
func ServerUse() predicate.Predicate {
	// Exported fields: the comparison panics on others.
	type use struct {
		Allowed     v1alpha1.AllowedTeams
		Network     v1alpha1.ServerNetworking
		External    *v1alpha1.ServerExternal
		Credentials *v1alpha1.LocalRef
		Asked, Mode v1alpha1.CredentialsMode
		Ready       bool
		Deleting    bool
	}
	of := func(o client.Object) use {
		s, ok := o.(*v1alpha1.TerdutServer)
		if !ok {
			return use{}
		}
		var asked, mode v1alpha1.CredentialsMode
		if c := s.Spec.Credentials; c != nil {
			asked = c.Mode
		}
		if c := s.Status.Credentials; c != nil {
			mode = c.Mode
		}
		return use{
			s.Spec.AllowedTeams, s.Spec.Networking, s.Spec.External, s.Status.OperatorCredentialsSecretRef, asked, mode,
			meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionBootstrapped) &&
				meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionAvailable),
			!s.DeletionTimestamp.IsZero(),
		}
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(of(e.ObjectOld), of(e.ObjectNew))
	}}
}

// Moved passes the changes of a TerdutServer that give it another address.
func Moved() predicate.Predicate {
	never := predicate.NewPredicateFuncs(func(client.Object) bool { return false })
	return predicate.Funcs{
		CreateFunc: never.Create, DeleteFunc: never.Delete, GenericFunc: never.Generic,
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*v1alpha1.TerdutServer)
			now, also := e.ObjectNew.(*v1alpha1.TerdutServer)
			return ok && also && (connect.PublicURL(before) != connect.PublicURL(now) || connect.BaseURL(before) != connect.BaseURL(now))
		},
	}
}

// TeamUse passes the changes of a TerdutTeam that what belongs to it acts on:
// its ID, whether it is permitted and in sync, its deletion.
func TeamUse() predicate.Predicate {
	type use struct {
		Remote   *v1alpha1.RemoteIdentity
		Reason   string
		Deleting bool
	}
	of := func(o client.Object) use {
		t, ok := o.(*v1alpha1.TerdutTeam)
		if !ok {
			return use{}
		}
		u := use{Remote: t.Status.Remote, Deleting: !t.DeletionTimestamp.IsZero()}
		if c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			u.Reason = c.Reason
		}
		return u
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(of(e.ObjectOld), of(e.ObjectNew))
	}}
}

// Labels passes changes of labels.
func Labels() predicate.Predicate { return predicate.LabelChangedPredicate{} }

// ToChildren maps a TerdutTeam to the objects of one kind that refer to it.
func ToChildren(c client.Reader, newList func() client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, team client.Object) []reconcile.Request {
		return Requests(ctx, c, newList(), client.InNamespace(team.GetNamespace()), client.MatchingFields{refs.ByTeam: team.GetName()})
	})
}

// ToTeams maps a TerdutServer to the teams that refer to it.
func ToTeams(c client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(teamsOf(c))
}

// ToChildrenOfTeams maps a TerdutServer to the objects of one kind that belong
// to its teams.
func ToChildrenOfTeams(c client.Reader, newList func() client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(childrenOf(c, newList))
}

// teamsOf finds the teams that refer to a TerdutServer.
func teamsOf(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, server client.Object) []reconcile.Request {
		key := client.ObjectKeyFromObject(server).String()
		return Requests(ctx, c, &v1alpha1.TerdutTeamList{}, client.MatchingFields{refs.TeamsByServer: key})
	}
}

// childrenOf finds the objects of one kind that belong to teams of a
// TerdutServer.
func childrenOf(c client.Reader, newList func() client.ObjectList) handler.MapFunc {
	return func(ctx context.Context, server client.Object) []reconcile.Request {
		var out []reconcile.Request
		for _, team := range teamsOf(c)(ctx, server) {
			out = append(out, Requests(ctx, c, newList(),
				client.InNamespace(team.Namespace), client.MatchingFields{refs.ByTeam: team.Name})...)
		}
		return out
	}
}

// wakePause is the pause between two objects that are woken at once: as many
// as there are, they come spread out.
const wakePause = 2 * time.Millisecond

// WakeTeams wakes the teams of a TerdutServer.
func WakeTeams(c client.Reader) handler.EventHandler { return wake(teamsOf(c)) }

// WakeChildren wakes the objects of one kind that belong to teams of a
// TerdutServer.
func WakeChildren(c client.Reader, newList func() client.ObjectList) handler.EventHandler {
	return wake(childrenOf(c, newList))
}

func wake(find handler.MapFunc) handler.EventHandler {
	return handler.Funcs{GenericFunc: func(
		ctx context.Context, e event.GenericEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request],
	) {
		for i, request := range find(ctx, e.Object) {
			q.AddAfter(request, time.Duration(i)*wakePause)
		}
	}}
}

// WatchNamespaces wakes the objects of one kind in a Namespace whose labels
// change. Where Namespaces cannot be watched, the resync finds it.
func (d *Deps) WatchNamespaces(b *builder.Builder, newList func() client.ObjectList) *builder.Builder {
	if !d.Resolver.Scope.Whole() {
		return b
	}
	return b.WatchesMetadata(&corev1.Namespace{}, InNamespace(d.Client, newList), builder.WithPredicates(Labels()))
}

// InNamespace maps a Namespace to the objects of one kind in it.
func InNamespace(c client.Reader, newList func() client.ObjectList) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, namespace client.Object) []reconcile.Request {
		return Requests(ctx, c, newList(), client.InNamespace(namespace.GetName()))
	})
}

// Requests are the objects of a cached list. A list that fails is logged: the
// resync makes up for it.
func Requests(ctx context.Context, c client.Reader, list client.ObjectList, opts ...client.ListOption) []reconcile.Request {
	if err := c.List(ctx, list, opts...); err != nil {
		logf.FromContext(ctx).Error(err, "find who has to be told of a change")
		return nil
	}
	var out []reconcile.Request
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if obj, ok := o.(client.Object); ok {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}})
		}
		return nil
	})
	return out
}
