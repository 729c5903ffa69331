package remote

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// Names of the indices that find other resources by what they hold and by what
// they want to hold.
const (
	// HolderIndex finds the resources of a kind that have recorded an object, by
	// its HolderKey.
	HolderIndex = "remote.holder"
	claimIndex  = "remote.claim"
)

// Index adds the two indices that the loop needs. It is called once, before
// the manager starts.
func (l *Loop[T, A, D]) Index(ctx context.Context, indexer client.FieldIndexer) error {
	holder := func(o client.Object) []string { return l.holds(o.(T)) }             //nolint:forcetypeassert // indexed by type
	claim := func(o client.Object) []string { return []string{l.ClaimKey(o.(T))} } //nolint:forcetypeassert // indexed by type
	if err := indexer.IndexField(ctx, l.New(), HolderIndex, holder); err != nil {
		return fmt.Errorf("index %T by what it holds: %w", l.New(), err)
	}
	if err := indexer.IndexField(ctx, l.New(), claimIndex, claim); err != nil {
		return fmt.Errorf("index %T by what it wants: %w", l.New(), err)
	}
	return nil
}

// holds spells what an object has recorded as its own. A record under another
// UID was copied or restored and holds nothing.
func (l *Loop[T, A, D]) holds(obj T) []string {
	r := l.Kind.Load(obj).Record
	if r == nil || r.OwnerUID != obj.GetUID() || l.hasLetGo(obj) {
		return nil
	}
	return []string{HolderKey(r.Place, r.ID)}
}

// hasLetGo tells an object that is only still there because of others.
func (l *Loop[T, A, D]) hasLetGo(obj T) bool {
	return !obj.GetDeletionTimestamp().IsZero() && !controllerutil.ContainsFinalizer(obj, l.Finalizer)
}

// HolderKey spells an object for HolderIndex.
func HolderKey(place Place, id int64) string {
	return fmt.Sprintf("%s/%d/%d", place.Server, place.TeamID, id)
}

// holder names another resource that holds the object of that ID and creation
// time, as this one may hear of it; empty when there is none.
func (p *pass[T, A, D]) holder(ctx context.Context, id int64, createdAt string) (string, error) {
	other, err := p.heldBy(ctx, p.place, id, createdAt)
	if err != nil || other == nil {
		return "", err
	}
	return p.nameOf(other), nil
}

// rival is another resource that holds an object, or has begun to make one of
// its name.
type rival struct {
	name         string
	holds, elder bool
}

// rival asks the API server instead of the cache.
func (p *pass[T, A, D]) rival(ctx context.Context, t *Thing[D]) (*rival, error) {
	others, err := p.listObjects(ctx, p.Live)
	if err != nil {
		return nil, err
	}
	var begun *rival
	for _, o := range others {
		if slices.Contains(p.holds(o), HolderKey(p.place, t.ID)) && p.isRecordOf(o, t.CreatedAt) {
			return &rival{name: p.nameOf(o), holds: true}, nil
		}
		s := p.Kind.Load(o)
		if s.Pending == nil || p.ClaimKey(o) != p.ClaimKey(p.obj) || !o.GetDeletionTimestamp().IsZero() {
			continue
		}
		if begun == nil || older(o, p.obj) {
			begun = &rival{name: p.nameOf(o), elder: older(o, p.obj)}
		}
	}
	return begun, nil
}

// elder names an older object that wants the same and, like this one, has
// recorded nothing. One that is being deleted or that cannot get at the object
// does not count: it could block others for ever. One that merely waits does:
// what it waits for, the team or the server, has come for this one already.
// Where the object exists, only those count that may take it over.
func (p *pass[T, A, D]) elder(ctx context.Context, exists bool) (string, error) {
	others, err := p.listObjects(ctx, p.Client, client.MatchingFields{claimIndex: p.ClaimKey(p.obj)})
	if err != nil {
		return "", err
	}
	for _, o := range others {
		s := p.Kind.Load(o)
		if s.Record != nil || !o.GetDeletionTimestamp().IsZero() || isShutOut(s.Conditions) {
			continue
		}
		if exists && !p.MayAdopt(o, p.api).Allowed {
			continue
		}
		if s.Pending != nil || older(o, p.obj) {
			return p.nameOf(o), nil
		}
	}
	return "", nil
}

// isShutOut tells whether a reference of an object leads nowhere for a reason
// that is its own.
func isShutOut(conditions []metav1.Condition) bool {
	c := meta.FindStatusCondition(conditions, referencesResolved)
	return c != nil && c.Status == metav1.ConditionFalse && !strings.HasPrefix(c.Reason, "Waiting")
}

func older(a, b metav1.Object) bool {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if at.Equal(&bt) {
		return a.GetUID() < b.GetUID()
	}
	return at.Before(&bt)
}

// listObjects are the other objects of the kind that match.
func (v *visit[T, A, D]) listObjects(ctx context.Context, from client.Reader, opts ...client.ListOption) ([]T, error) {
	list := v.NewList()
	if err := from.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("list other resources of the kind: %w", err)
	}
	var out []T
	err := meta.EachListItem(list, func(o runtime.Object) error {
		if other, ok := o.(T); ok && other.GetUID() != v.obj.GetUID() {
			out = append(out, other)
		}
		return nil
	})
	return out, err
}

// nameOf names another object without telling one tenant about another.
func (p *pass[T, A, D]) nameOf(other client.Object) string {
	if other.GetNamespace() != p.obj.GetNamespace() {
		return "another object"
	}
	return fmt.Sprintf("%s/%s", other.GetNamespace(), other.GetName())
}

// refuse ends the pass: the name cannot be had. What would change that is
// either watched or looked at again at the next resync.
func (p *pass[T, A, D]) refuse(ctx context.Context, s step) error {
	holder := ""
	if t := p.thing(s.id); t != nil {
		var err error
		if holder, err = p.holder(ctx, t.ID, t.CreatedAt); err != nil {
			return err
		}
	}
	switch s.refusal {
	case heldByOther, wantedByElder:
		return p.waits(holder)
	case claimedTwice:
		return outcome.Refused(synced, reasonTwice,
			"%s %d is recorded by %s too: nothing is written for either until one of the two is deleted, which does not touch it", p.Noun, s.id, holder)
	case keyUnknown:
		return outcome.Refused(synced, reasonKeyUnknown,
			"%s %q (%d) exists and its key was given to somebody else: name a Secret that holds it in spec.existingKeySecretRef, "+
				"choose another name, or delete it on the server",
			p.Noun, p.want.Name, s.id)
	case maybeAnother:
		return outcome.Refused(synced, reasonNameConflict,
			"%s %d is called otherwise than it was, and the server gives no creation time that tells whether it is still the same: "+
				"nothing is written. Give it the name %q back on the server, or delete this resource and make it again", p.Noun, s.id, p.state.Record.Name)
	case noLeave:
		return outcome.Refused(synced, reasonNameConflict,
			"%s %q (%d) exists and was not made by this resource: %s", p.Noun, p.want.Name, s.id, p.adoption.Otherwise)
	default:
		return outcome.Refused(synced, reasonNameConflict,
			"%s %q exists and was not made by this resource: choose another name, or have it renamed or deleted on the server",
			p.Noun, p.want.Name)
	}
}

func orOlder(holder string) string {
	if holder == "" {
		return "an older resource"
	}
	return holder
}

// Rivals wakes the objects that want what another one has let go of, and those
// that hold what another one has recorded too, or not any more.
func (l *Loop[T, A, D]) Rivals(c client.Reader) handler.EventHandler {
	w := &waker[T]{c: c, newList: l.NewList}
	gone := func(ctx context.Context, o T, q queue) {
		w.wake(ctx, o, q, claimIndex, l.ClaimKey(o))
		for _, key := range l.holds(o) {
			w.wake(ctx, o, q, HolderIndex, key)
		}
	}
	return handler.Funcs{
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			if o, ok := e.Object.(T); ok {
				gone(ctx, o, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(T)
			now, same := e.ObjectNew.(T)
			if !ok || !same {
				return
			}
			held, holds := l.holds(before), l.holds(now)
			if l.ClaimKey(before) != l.ClaimKey(now) || len(held) > 0 && !slices.Equal(held, holds) {
				gone(ctx, before, q)
			}
			if !slices.Equal(held, holds) && len(holds) > 0 {
				w.wake(ctx, now, q, HolderIndex, holds[0])
			}
		},
	}
}

// waker wakes the objects that an index finds.
type waker[T client.Object] struct {
	c       client.Reader
	newList func() client.ObjectList
}

// wake wakes all objects under a key of an index but that one.
func (w *waker[T]) wake(ctx context.Context, but T, q queue, index, key string) {
	list := w.newList()
	if err := w.c.List(ctx, list, client.MatchingFields{index: key}); err != nil {
		logf.FromContext(ctx).Error(err, "find who wants what this object held")
		return
	}
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if other, ok := o.(T); ok && other.GetUID() != but.GetUID() {
			q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
		}
		return nil
	})
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
