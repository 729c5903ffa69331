package remote

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// Loop reconciles one kind. Its fields are set once, before it runs.
type Loop[T client.Object, A, D any] struct {
	Kind Kind[T, A, D]
	// Resource is the kind of the custom resources, as logs and metrics name it.
	Resource string
	// Noun is what the kind's objects are called in messages.
	Noun string
	// Naming says how the kind recognises what it has begun to create.
	Naming Naming
	// Grace is how long an object that was replaced is kept; nil means that none
	// is.
	Grace func(T) time.Duration
	// Rotate is a token with which somebody asks for a new object in the place of
	// the one that there is; empty when nobody does. Nil for a kind of which
	// nothing is ever told but once.
	Rotate func(T) string
	// New and NewList make empty objects of the kind.
	New     func() T
	NewList func() client.ObjectList
	// ClaimKey spells what the spec of an object wants to hold; two objects
	// with the same key want the same.
	ClaimKey func(T) string
	// MayAdopt tells whether an unmarked object of the wanted name may be taken
	// over. It is pure.
	MayAdopt func(T, A) Adoption
	// Beside sees to what accompanies an object once that stands on the server
	// as the spec asks, and returns the conditions that say so. Its endings do
	// not make the object itself less in sync. Nil where a kind has nothing of
	// the sort.
	Beside func(ctx context.Context, api A, obj T) ([]status.Part, error)
	// Leave undoes what Beside did, before the object is deleted on the server.
	// It is asked for while Accompanied is true.
	Leave       func(ctx context.Context, api A, obj T) error
	Accompanied func(T) bool
	// Orphans tells whether what an object has recorded stays on the server when
	// the object is deleted.
	Orphans func(T) bool
	// Part sees to it that what belongs to such an object here outlives it. Nil
	// where there is nothing of the sort.
	Part func(ctx context.Context, obj T) error

	// Client reads from the cache and writes. Live reads past the cache.
	Client   client.Client
	Live     client.Reader
	Recorder events.EventRecorder
	Schedule *outcome.Schedule
	// Finalizer holds an object until what it recorded is gone.
	Finalizer string
	// Annotations are those that the loop obeys.
	Annotations Annotations
	// Terminating tells whether a namespace is going or gone: no Event can be
	// created in it.
	Terminating func(ctx context.Context, namespace string) (bool, error)
	// ServerObject is the object that stands for a server, for Events about what
	// is left on it; nil where it is gone or its namespace terminates.
	ServerObject func(context.Context, types.NamespacedName) (runtime.Object, error)
	// Now is the clock.
	Now func() time.Time

	saved status.Written
	// released has the UID of each object, by name, of which this process has said
	// that it lets it go without cleaning up, and parted of which it has taken the
	// finalizer off: a cache that still shows such an object has nothing to say.
	released, parted sync.Map
}

// Reconcile brings one object and what it stands for together.
func (l *Loop[T, A, D]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	obj := l.New()
	if err := l.Client.Get(ctx, req.NamespacedName, obj); err != nil {
		l.Schedule.Gone(req.NamespacedName)
		l.released.Delete(req.NamespacedName)
		l.parted.Delete(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if uid, _ := l.parted.Load(req.NamespacedName); uid == obj.GetUID() {
		return reconcile.Result{}, nil
	}
	if l.saved.Outdated(obj, l.Now()) {
		return l.Schedule.LookAgain(), nil
	}
	v := &visit[T, A, D]{Loop: l, obj: obj, written: l.Kind.Load(obj)}

	var err error
	deleting := !obj.GetDeletionTimestamp().IsZero()
	switch {
	case deleting:
		err = v.clean(ctx)
	case v.on(v.Annotations.Paused):
		return v.pause(ctx)
	default:
		err = v.converge(ctx)
	}

	switch {
	case isLookAgain(err):
		return l.Schedule.LookAgain(), nil
	case deleting && err == nil:
		l.Schedule.Gone(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	result, err := v.report(ctx, err)
	return v.noLaterThanDue(result), err
}

// visit is one reconcile of one object.
type visit[T client.Object, A, D any] struct {
	*Loop[T, A, D]
	obj T
	// written is the state as the API server has it.
	written State[D]
	// stands is true once the object is on the server as the spec asks; beside
	// is then what Beside says.
	stands bool
	beside []status.Part
	// latest is true from a write or a proof that would have been refused to an
	// old version of the object until the next step.
	latest bool
	// mute is true when the object's namespace takes no Events any more.
	mute bool
}

// converge makes the object on the server what the spec asks.
func (v *visit[T, A, D]) converge(ctx context.Context) error {
	place, api, err := v.Kind.Resolve(ctx, v.obj)
	if err != nil {
		return err
	}
	if err = v.hold(ctx); err != nil {
		return err
	}
	p := &pass[T, A, D]{visit: v, place: place, api: api, state: v.owned(v.obj, v.Kind.Load(v.obj))}
	if err = p.run(ctx, decide); err != nil || v.Beside == nil {
		return err
	}
	v.beside, err = v.Beside(ctx, api, v.obj)
	// Where the spec refers to what is not to be had, it is not applied yet.
	ending, _ := outcome.As(err)
	v.stands = ending == nil || ending.Condition != referencesResolved
	return err
}

// clean deletes what the object has recorded and lets it go. An object that
// has recorded nothing goes at once, whatever its server does, and so does one
// whose recorded object stays.
func (v *visit[T, A, D]) clean(ctx context.Context) (err error) {
	if !controllerutil.ContainsFinalizer(v.obj, v.Finalizer) {
		return nil
	}
	state, err := v.undisputed(ctx)
	if err != nil {
		return err
	}
	begun := v.hasBegun(&state)
	if state.Record == nil && !begun {
		return v.letGo(ctx)
	}
	if v.mute, err = v.Terminating(ctx, v.obj.GetNamespace()); err != nil {
		return err
	}
	switch {
	case v.on(v.Annotations.ForceOrphan):
		return v.release(ctx, v.forced())
	case v.Orphans(v.obj) && !begun:
		return v.orphan(ctx)
	}
	return v.cleanServer(ctx, state)
}

// undisputed is what the object remembers, without a record that another one
// has too: letting that go leaves it to the other one.
func (v *visit[T, A, D]) undisputed(ctx context.Context) (State[D], error) {
	state := v.owned(v.obj, v.Kind.Load(v.obj))
	twice, err := v.isClaimedTwice(ctx, state.Record)
	if twice {
		state.Record = nil
	}
	return state, err
}

// cleanServer deletes on the server what is to be deleted there.
func (v *visit[T, A, D]) cleanServer(ctx context.Context, state State[D]) error {
	place, api, err := v.Kind.Recorded(ctx, v.obj)
	if r, released := asRelease(err); released {
		return v.release(ctx, r)
	}
	if err != nil {
		return err
	}
	if v.Leave != nil && v.Accompanied(v.obj) {
		if err = v.Leave(ctx, api, v.obj); err != nil {
			return err
		}
	}
	p := &pass[T, A, D]{visit: v, place: place, api: api, state: state, deleting: true}
	return p.run(ctx, decideDelete)
}

// report writes the status if it says something new, tells what has changed,
// and says when to come again. It is the one way out of a pass.
func (v *visit[T, A, D]) report(ctx context.Context, err error) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(v.obj)
	err = v.Schedule.Explained(key, v.Now(), err, func(err error) *outcome.Ending {
		return outcome.Unknown(synced, reasonApplyFailed, "%s", outcome.Lasting(err))
	})
	ending, known := outcome.As(err)
	if err != nil && !known {
		return reconcile.Result{}, err
	}
	s := v.Kind.Load(v.obj)
	edited := !status.Speak(s.Conditions, v.obj.GetGeneration())
	applied := s.ObservedGeneration == v.obj.GetGeneration()
	if ending == nil || v.stands {
		s.ObservedGeneration = v.obj.GetGeneration()
	}
	v.acknowledge(&s, ending)
	old := s.Conditions
	s.Conditions = status.Unpaused(old)
	if v.tells(applied, ending) {
		s.Conditions = status.Conditions(s.Conditions, v.find(s, unchanged(old, ending)), metav1.NewTime(v.Now()))
	}

	if err := v.save(ctx, s); err != nil {
		if isLookAgain(err) {
			return v.Schedule.LookAgain(), nil
		}
		return reconcile.Result{}, err
	}
	v.emit(status.Transitions(old, s.Conditions)...)
	result := v.Schedule.After(key, edited, ending)
	if ending != nil && !v.obj.GetDeletionTimestamp().IsZero() {
		result.RequeueAfter = v.beforeStuck(result.RequeueAfter)
	}
	return result, nil
}

// Names that the API package spells too; a test compares them.
const (
	referencesResolved = "ReferencesResolved"
	synced             = "Synced"

	reasonNameConflict  = "NameConflict"
	reasonTwice         = "DuplicateClaim"
	reasonWaitingForOne = "WaitingForRule"
	reasonKeyUnknown    = "KeyUnknown"
	reasonInvalid       = "Invalid"
	reasonApplyFailed   = "ApplyFailed"

	reasonUnexpectedAnswer = "UnexpectedAnswer"
	reasonDeletionStuck    = "DeletionStuck"
	reasonForceOrphan      = "ForceOrphan"

	eventCreated        = "Created"
	eventUpdated        = "Updated"
	eventDeleted        = "Deleted"
	eventAdopted        = "Adopted"
	eventOverwritten    = "Overwritten"
	eventRecreated      = "Recreated"
	eventRotated        = "Rotated"
	eventDriftCorrected = "DriftCorrected"
	eventReleased       = "Released"
	eventOrphaned       = "Orphaned"
)

// sortedFields are the names of fields for a message.
func sortedFields(fields []string) []string {
	out := slices.Clone(fields)
	slices.Sort(out)
	return slices.Compact(out)
}
