// Package outcome names the ways in which a reconcile may end short of its
// goal. An ending is an error, so that it travels up like one; it is turned
// into conditions and a requeue in one place only (package status). Waiting is
// an ending too: a nil error always means that the goal was reached.
package outcome

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Retry says what makes sense to do next.
type Retry int

const (
	// RetryBackoff tries again after a growing pause.
	RetryBackoff Retry = iota
	// RetryResync tries again at the next resync: trying sooner cannot help,
	// and what would help is watched.
	RetryResync
)

// Telling says who is told of an ending.
type Telling int

const (
	// TellAll writes it into the object's conditions.
	TellAll Telling = iota
	// TellNew writes it into an object whose generation was not applied yet; of
	// any other it says nothing, as long as it lasts no longer.
	TellNew
	// TellNone writes nothing: it is about the operator's own pace.
	TellNone
)

// Ending is how a pass ended when it did not reach its goal.
type Ending struct {
	// Condition is the type of the condition that is not True because of it.
	Condition string
	// Status of that condition: False, or Unknown where nothing could be seen.
	Status metav1.ConditionStatus
	// Reason is a CamelCase state of the world.
	Reason string
	// Message says what is wrong, on which object, and what to do next. It is
	// the same from one try to the next and holds no secret.
	Message string
	// Stalled is true when a person has to do something.
	Stalled bool
	// Tell says who is told.
	Tell Telling
	// Retry says when to try again.
	Retry Retry
	// After is a time to wait that somebody asked for; zero means that Retry
	// decides.
	After time.Duration

	cause error
}

// Error implements error.
func (e *Ending) Error() string { return e.Reason + ": " + e.Message }

// Unwrap gives the error that led here, if there was one.
func (e *Ending) Unwrap() error { return e.cause }

// Because keeps the error that led to the ending, for errors.Is and the log.
func (e *Ending) Because(err error) *Ending { e.cause = err; return e }

// On sets the condition that the ending is about.
func (e *Ending) On(condition string) *Ending { e.Condition = condition; return e }

// Waiting is for something that will come by itself or is being made.
func Waiting(condition, reason, format string, args ...any) *Ending {
	return &Ending{Condition: condition, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Unknown is for a state that could not be seen: the other side did not
// answer, or not in a way that tells anything.
func Unknown(condition, reason, format string, args ...any) *Ending {
	return &Ending{Condition: condition, Status: metav1.ConditionUnknown, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Refused is for what only a person can change: no consent, a name that is
// taken, a value that is not accepted. What would change it is watched.
func Refused(condition, reason, format string, args ...any) *Ending {
	return &Ending{
		Condition: condition, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...),
		Stalled: true, Retry: RetryResync,
	}
}

// As finds the ending in err.
func As(err error) (*Ending, bool) {
	var e *Ending
	ok := errors.As(err, &e)
	return e, ok
}
