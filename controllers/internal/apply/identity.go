package apply

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrTerminating says that nothing was done because the owner is being deleted: its children are not made again.
var ErrTerminating = errors.New("the owner is being deleted")

// errBeingDeleted is behind a LookAgain for an object that cannot be written until it is gone.
var errBeingDeleted = errors.New("it is being deleted")

// Refused says that an object stands where a child should, and is not ours. Nothing was written to it.
type Refused struct {
	Key Key
	// Holder is the object that controls it, as "Kind name". Empty when nobody does.
	Holder string
}

func (r *Refused) Error() string {
	if r.Holder == "" {
		return fmt.Sprintf("%s exists and was not made for this object: delete it, or choose another name", r.Key)
	}
	return fmt.Sprintf("%s is controlled by %s: delete it there, or choose another name", r.Key, r.Holder)
}

// Immutable says that the intent wants a field to change that the API server never changes. Nothing was written.
type Immutable struct {
	Key Key
	// Field as "spec.selector".
	Field string
}

func (i *Immutable) Error() string {
	return fmt.Sprintf("%s: %s cannot change on an existing object: delete the object, and it is made again as wanted", i.Key, i.Field)
}

// LookAgain says that the object is not, or no longer, the one that was looked at: it was deleted, made again, created or
// changed in between. The next pass sees what is there now.
type LookAgain struct {
	Key Key
	Err error
}

func (l *LookAgain) Error() string {
	return fmt.Sprintf("%s is not what it was when it was read: %v", l.Key, l.Err)
}

// Unwrap returns the answer of the API server.
func (l *LookAgain) Unwrap() error { return l.Err }

// IsLookAgain tells whether err holds a LookAgain. It asks for an early retry and is never a reason to stall.
func IsLookAgain(err error) bool {
	var again *LookAgain
	return errors.As(err, &again)
}

// isVerdict tells whether err is about one child alone.
func isVerdict(err error) bool {
	var refused *Refused
	var fixed *Immutable
	return errors.As(err, &refused) || errors.As(err, &fixed)
}

// requestError turns the answer to a write into what it means.
func requestError(verb string, key Key, err error) error {
	switch {
	case err == nil:
		return nil
	case isIdentityConflict(err):
		return &LookAgain{Key: key, Err: err}
	}
	return fmt.Errorf("%s %s: %w", verb, key, err)
}

// isIdentityConflict tells whether the API server found another object than the one that was meant, or another version of
// it. That is a 409 whose causes are not about fields, or a 422 on metadata.uid when the object was made again.
func isIdentityConflict(err error) bool {
	switch {
	case apierrors.IsConflict(err):
		return len(fieldConflicts(err)) == 0
	case apierrors.IsInvalid(err):
		for _, cause := range causes(err) {
			if cause.Field == "metadata.uid" {
				return true
			}
		}
	}
	return false
}

// fieldConflicts returns the causes of a 409 that says that other managers own fields of the intent.
func fieldConflicts(err error) []metav1.StatusCause {
	var conflicts []metav1.StatusCause
	for _, cause := range causes(err) {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			conflicts = append(conflicts, cause)
		}
	}
	return conflicts
}

func causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// holder names the object that controls live.
func holder(live client.Object) string {
	controller := metav1.GetControllerOfNoCopy(live)
	if controller == nil {
		return ""
	}
	return strings.TrimSpace(controller.Kind + " " + controller.Name)
}
