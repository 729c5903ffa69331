package outcome

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Pauses between tries.
const (
	backoffFirst = time.Second
	backoffLast  = 5 * time.Minute
	// lookAgain is how long a cache is given to catch up that does not show our
	// last write yet, or whose object a write of ours met changed.
	lookAgain = 50 * time.Millisecond
	// lasting is for how long passes over an object may end in errors that no
	// ending explains, such as those of an API server that fails, until somebody is
	// told.
	lasting = time.Minute
)

// Schedule turns endings into the time of the next pass. It owns the back-off
// of every object of one controller and is safe for concurrent use.
type Schedule struct {
	resync  time.Duration
	limiter workqueue.TypedRateLimiter[types.NamespacedName]
	// failing is since when there is nothing but such errors, by object.
	failing sync.Map
}

// NewSchedule makes a schedule whose settled objects are looked at again every
// resync, give or take a tenth.
func NewSchedule(resync time.Duration) *Schedule {
	return &Schedule{
		resync:  resync,
		limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](backoffFirst, backoffLast),
	}
}

// After is the result of a pass that came to an ending; none means that the object
// is as it should be. An edit does not wait for as long as what failed before it.
func (s *Schedule) After(key types.NamespacedName, edited bool, e *Ending) reconcile.Result {
	if edited {
		s.Forget(key)
	}
	if e == nil {
		return s.settled(key)
	}
	return s.ended(key, e)
}

// settled is the result for an object that is as it should be.
func (s *Schedule) settled(key types.NamespacedName) reconcile.Result {
	s.Forget(key)
	return reconcile.Result{RequeueAfter: s.jittered()}
}

// ended is the result for an ending.
func (s *Schedule) ended(key types.NamespacedName, e *Ending) reconcile.Result {
	switch {
	case e.After > 0:
		return reconcile.Result{RequeueAfter: e.After}
	case e.Retry == RetryResync:
		return s.settled(key)
	default:
		return reconcile.Result{RequeueAfter: min(s.limiter.When(key), max(s.resync, backoffFirst))}
	}
}

// LookAgain is the result where the cache is behind: it does not show our last
// write yet, or a write has met a changed object.
func (s *Schedule) LookAgain() reconcile.Result {
	return reconcile.Result{RequeueAfter: lookAgain}
}

// Explained is the error of a pass, or, once an object has met nothing but errors
// that are no endings for a minute, the ending that tells of them. Until then they
// are the operator's own affair: whoever fails for a moment comes back by itself.
func (s *Schedule) Explained(key types.NamespacedName, now time.Time, err error, tell func(error) *Ending) error {
	if _, ended := As(err); err == nil || ended {
		s.failing.Delete(key)
		return err
	}
	first, _ := s.failing.LoadOrStore(key, now)
	if since, ok := first.(time.Time); !ok || now.Sub(since) < lasting {
		return err
	}
	return tell(err)
}

// Lasting is how people are told of an error that lasts.
func Lasting(err error) string {
	return fmt.Sprintf("the Kubernetes API server has failed for more than a minute, or something in it that has a say, such as an admission webhook: %s. "+
		"The operator tries again until it does", Steady(err.Error()))
}

// Forget drops what is remembered of the pauses of an object.
func (s *Schedule) Forget(key types.NamespacedName) { s.limiter.Forget(key) }

// Gone drops everything that is remembered of an object that is gone.
func (s *Schedule) Gone(key types.NamespacedName) {
	s.Forget(key)
	s.failing.Delete(key)
}

func (s *Schedule) jittered() time.Duration {
	tenth := s.resync / 10
	if tenth <= 0 {
		return s.resync
	}
	return s.resync - tenth + rand.N(2*tenth) //nolint:gosec // jitter, not a secret
}
