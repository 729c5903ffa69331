package remote

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// save writes a state, and the whole status with it, if it is not what the API
// server has already.
func (v *visit[T, A, D]) save(ctx context.Context, s State[D]) error {
	if same(s, v.written) {
		return nil
	}
	v.Kind.Store(v.obj, s)
	config, err := v.Kind.Status(v.obj)
	if err != nil {
		return err
	}
	if err = status.Apply(ctx, v.Client, apply.FieldManager, config); err != nil {
		if moved(err) {
			return errMoved
		}
		return fmt.Errorf("write status of %s: %w", client.ObjectKeyFromObject(v.obj), err)
	}
	// The next write of this pass means the object as this one has left it.
	version, err := status.ResourceVersion(config)
	if err != nil {
		return err
	}
	v.obj.SetResourceVersion(version)
	v.saved.Note(v.obj, v.Now())
	v.latest = true
	v.written = v.Kind.Load(v.obj)
	return nil
}

// same tells whether two states are stored alike.
func same[D any](a, b State[D]) bool {
	return conversion.EqualitiesOrDie(
		func(a, b time.Time) bool { return a.Equal(b) },
		func(a, b metav1.Time) bool { return a.Equal(&b) },
		// A body may have fields that only its kind can see.
		func(a, b D) bool { return reflect.DeepEqual(a, b) },
	).DeepEqual(a, b)
}

// hold sets the finalizer, before anything is made that it has to clean up.
func (v *visit[T, A, D]) hold(ctx context.Context) error {
	return v.patchFinalizers(ctx, controllerutil.AddFinalizer)
}

// letGo takes the finalizer off, after everything it had to clean up is gone.
func (v *visit[T, A, D]) letGo(ctx context.Context) error {
	if err := v.patchFinalizers(ctx, controllerutil.RemoveFinalizer); err != nil {
		return err
	}
	v.parted.Store(client.ObjectKeyFromObject(v.obj), v.obj.GetUID())
	return nil
}

// patchFinalizers is a merge patch under resourceVersion: an apply could bring
// a deleted object back.
func (v *visit[T, A, D]) patchFinalizers(ctx context.Context, change func(client.Object, string) bool) error {
	base := v.obj.DeepCopyObject().(T) //nolint:forcetypeassert // a copy has the type of its original
	if !change(v.obj, v.Finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := v.Client.Patch(ctx, v.obj, patch); err != nil {
		if moved(err) {
			return errMoved
		}
		return fmt.Errorf("patch finalizers of %s: %w", client.ObjectKeyFromObject(v.obj), err)
	}
	return nil
}

// errMoved is a write to an object that has changed or gone meanwhile. It means
// only: read again, decide again.
var errMoved = errors.New("the object has changed meanwhile")

func moved(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apply.IsLookAgain(err) || isOtherUID(err)
}

// isOtherUID tells the answer to a write that meant an object which has been
// deleted and made again.
func isOtherUID(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &answer) || answer.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(answer.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}

func isLookAgain(err error) bool {
	return errors.Is(err, errMoved) || apply.IsLookAgain(err)
}
