package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// Release is the answer of Kind.Recorded, or of Kind.Delete, when a resource is
// to be let go although something of it may stay behind: nobody is left who
// could clean up, or somebody has asked for that.
type Release struct {
	// Reason is a state of the world, one of a few: it labels a counter.
	Reason string
	// Message says why, and what may be left behind.
	Message string
	// Server is the one on which it is, where that is known.
	Server types.NamespacedName
}

// Error implements error.
func (r *Release) Error() string { return r.Reason + ": " + r.Message }

// Annotations are the names of the annotations that the loop obeys.
type Annotations struct {
	// ForceOrphan with the value "true" lets an object go at its deletion
	// without any call.
	ForceOrphan string
	// Paused with the value "true" keeps the loop from changing anything for an
	// object that is not being deleted.
	Paused string
	// Reconcile asks for a pass that believes no snapshot, once for each value.
	Reconcile string
}

// on tells whether an annotation that is a switch is on.
func (v *visit[T, A, D]) on(annotation string) bool {
	return v.obj.GetAnnotations()[annotation] == "true"
}

// StuckAfter is how long after its deletion an object that cannot go is told to
// be stuck.
const StuckAfter = 30 * time.Minute

// stuck is an ending in the words of a deletion that takes too long.
func (v *visit[T, A, D]) stuck(e *outcome.Ending) *outcome.Ending {
	if v.untilStuck() > 0 {
		return e
	}
	late := *e
	late.Reason = reasonDeletionStuck
	late.Message = fmt.Sprintf("not gone for %s: %s. Repair that, or set the annotation %s: \"true\" to let this resource go and leave on the server what is there",
		StuckAfter, e.Message, v.Annotations.ForceOrphan)
	return &late
}

// untilStuck is the time until a deletion counts as stuck.
func (v *visit[T, A, D]) untilStuck() time.Duration {
	return v.obj.GetDeletionTimestamp().Add(StuckAfter).Sub(v.Now())
}

// beforeStuck cuts a pause of a deletion short where it would miss the moment
// from which on that counts as stuck.
func (v *visit[T, A, D]) beforeStuck(pause time.Duration) time.Duration {
	if wait := v.untilStuck(); wait > 0 {
		return min(pause, wait)
	}
	return pause
}

// forced is the release that an annotation asks for.
func (v *visit[T, A, D]) forced() *Release {
	return &Release{Reason: reasonForceOrphan, Message: fmt.Sprintf("the annotation %s asks for it: what is on the server stays", v.Annotations.ForceOrphan)}
}

// release lets the object go, and says before it does what that may leave behind:
// in the log, in the counter, and in an Event where there is a place for it. Once
// the object is gone nothing makes anybody say it who has not yet.
func (v *visit[T, A, D]) release(ctx context.Context, r *Release) error {
	at := r.Server
	var id int64
	if record := v.Kind.Load(v.obj).Record; record != nil {
		at, id = record.Server, record.ID
	}
	about, err := v.noticeBoard(ctx, at)
	if err != nil {
		return err
	}
	// Taking the finalizer off may take several tries, and is told once.
	uid := v.obj.GetUID()
	if before, _ := v.released.Swap(client.ObjectKeyFromObject(v.obj), uid); before != uid {
		v.note(ctx, about, r, at, id)
	}
	return v.letGo(ctx)
}

// note tells that something may be left on a server.
func (v *visit[T, A, D]) note(ctx context.Context, about runtime.Object, r *Release, at types.NamespacedName, id int64) {
	logf.FromContext(ctx).Info("released without cleaning up",
		"kind", v.Resource, "namespace", v.obj.GetNamespace(), "name", v.obj.GetName(),
		"server", at.String(), "id", id, "reason", r.Reason, "message", r.Message)
	releasedWithoutCleanup.WithLabelValues(v.Resource, r.Reason).Inc()
	if about == nil {
		return
	}
	what := ""
	if about != runtime.Object(v.obj) {
		what = fmt.Sprintf("%s %s/%s ", v.Resource, v.obj.GetNamespace(), v.obj.GetName())
	}
	status.Emit(v.Recorder, about, status.Event{Warning: true, Reason: eventReleased,
		Message: fmt.Sprintf("%sreleased without cleaning up %s %d: %s", what, v.Noun, id, r.Message)})
}

// noticeBoard is what an Event about the end of this object can be put on: the
// object, or, since nothing can be created in a namespace that terminates, its
// server. Nil where there is neither.
func (v *visit[T, A, D]) noticeBoard(ctx context.Context, server types.NamespacedName) (runtime.Object, error) {
	if !v.mute {
		return v.obj, nil
	}
	if v.ServerObject == nil || server.Name == "" {
		return nil, nil
	}
	return v.ServerObject(ctx, server)
}

// emit tells Events about the object, unless its namespace terminates.
func (v *visit[T, A, D]) emit(list ...status.Event) {
	if !v.mute {
		status.Emit(v.Recorder, v.obj, list...)
	}
}

// hasBegun tells whether there is anything besides the recorded object that a
// deletion has to clean up, whatever becomes of that.
func (v *visit[T, A, D]) hasBegun(s *State[D]) bool {
	return s.Pending != nil || len(s.Retiring) > 0 || v.Leave != nil && v.Accompanied(v.obj)
}

// orphan lets the object go and leaves what it has recorded.
func (v *visit[T, A, D]) orphan(ctx context.Context) error {
	if v.Part != nil {
		if err := v.Part(ctx, v.obj); err != nil {
			return err
		}
	}
	if err := v.letGo(ctx); err != nil {
		return err
	}
	if r := v.Kind.Load(v.obj).Record; r != nil {
		v.emit(status.Event{Reason: eventOrphaned,
			Message: fmt.Sprintf("%s %d stays on TerdutServer %s, as the deletion policy asks", v.Noun, r.ID, r.Server)})
	}
	return nil
}

// end lets the object go after everything that was to be deleted is gone.
func (p *pass[T, A, D]) end(ctx context.Context) error {
	if p.left != nil {
		return p.release(ctx, p.left)
	}
	return p.letGo(ctx)
}

// asRelease finds a release in err.
func asRelease(err error) (*Release, bool) {
	var r *Release
	ok := errors.As(err, &r)
	return r, ok
}
