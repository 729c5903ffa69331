package outcome

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Pauses between tries.
const (
	backoffFirst = time.Second
	backoffLast  = 5 * time.Minute
	// lookAgain is how long a cache is given to catch up after a write of ours
	// met an object that had changed meanwhile.
	lookAgain = 50 * time.Millisecond
)

// Schedule turns endings into the time of the next pass. It owns the back-off
// of every object of one controller and is safe for concurrent use.
type Schedule struct {
	resync  time.Duration
	limiter workqueue.TypedRateLimiter[types.NamespacedName]
}

// NewSchedule makes a schedule whose settled objects are looked at again every
// resync, give or take a tenth.
func NewSchedule(resync time.Duration) *Schedule {
	return &Schedule{
		resync:  resync,
		limiter: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](backoffFirst, backoffLast),
	}
}

// Settled is the result for an object that is as it should be.
func (s *Schedule) Settled(key types.NamespacedName) reconcile.Result {
	s.limiter.Forget(key)
	return reconcile.Result{RequeueAfter: s.jittered()}
}

// Ended is the result for an ending.
func (s *Schedule) Ended(key types.NamespacedName, e *Ending) reconcile.Result {
	switch {
	case e.After > 0:
		return reconcile.Result{RequeueAfter: e.After}
	case e.Retry == RetryResync:
		s.limiter.Forget(key)
		return reconcile.Result{RequeueAfter: s.jittered()}
	default:
		return reconcile.Result{RequeueAfter: min(s.limiter.When(key), max(s.resync, backoffFirst))}
	}
}

// LookAgain is the result after a write that met a changed object.
func (s *Schedule) LookAgain() reconcile.Result {
	return reconcile.Result{RequeueAfter: lookAgain}
}

// Forget drops what is remembered of an object that is gone.
func (s *Schedule) Forget(key types.NamespacedName) { s.limiter.Forget(key) }

func (s *Schedule) jittered() time.Duration {
	tenth := s.resync / 10
	if tenth <= 0 {
		return s.resync
	}
	return s.resync - tenth + rand.N(2*tenth) //nolint:gosec // jitter, not a secret
}
