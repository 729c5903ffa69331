// Package release takes the operator's finalizers off when no operator is left
// that would. It is the last resort of an uninstallation in the wrong order:
// without it, what the finalizers hold terminates for ever.
package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// Options say what is released.
type Options struct {
	// Namespaces to look at; none means all.
	Namespaces []string
	// DryRun says what would be done and does nothing.
	DryRun bool
	// Lease is the name of the lease that a working operator holds.
	Lease string
	// Force goes on although an operator holds one, such as one that looks at
	// other namespaces.
	Force bool
	// Out is told each step, as a line.
	Out io.Writer
}

// kinds are what may bear the finalizer. What hangs on something comes before
// it, and Secrets before their TerdutServer, as the operator does it.
func kinds() []schema.GroupVersionKind {
	ours := v1alpha1.SchemeGroupVersion.WithKind
	return []schema.GroupVersionKind{
		ours("TerdutAlertSource"), ours("TerdutDeadmanSwitch"), ours("TerdutEscalationRule"), ours("TerdutTeam"),
		{Version: "v1", Kind: "Secret"},
		ours("TerdutServer"),
	}
}

// Run takes the finalizer off everything that bears it and says so. It deletes
// nothing, reads no Secret's values, and touches no terdut-server: what the
// operator made there stays, its keys stay valid.
//
// While an operator holds its lease nothing is done, unless forced: it would put
// the finalizers back. What fails is told at the end, after everything else was
// tried.
func Run(ctx context.Context, c client.Client, o Options) error {
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{metav1.NamespaceAll}
	}
	if !o.Force {
		if err := nobodyWorks(ctx, c, o); err != nil {
			return err
		}
	}
	var failed error
	released := 0
	for _, kind := range kinds() {
		for _, namespace := range o.Namespaces {
			n, err := releaseKind(ctx, c, kind, namespace, o)
			released += n
			failed = errors.Join(failed, err)
		}
	}
	if o.DryRun {
		say(o.Out, "%d objects would be released; nothing was changed", released)
		return failed
	}
	say(o.Out, "%d objects released; teams, keys and everything else on the terdut-servers is still there", released)
	return failed
}

// releaseKind releases the objects of one kind and returns how many.
func releaseKind(ctx context.Context, c client.Client, kind schema.GroupVersionKind, namespace string, o Options) (int, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := c.List(ctx, list, client.InNamespace(namespace))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		say(o.Out, "no %s: its custom resource definition is not installed", kind.Kind)
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("list %s objects: %w", kind.Kind, err)
	}
	var failed error
	released := 0
	for i := range list.Items {
		object := &list.Items[i]
		object.SetGroupVersionKind(kind) // the items of a list do not say it
		if !controllerutil.ContainsFinalizer(object, v1alpha1.Finalizer) {
			continue
		}
		if err := releaseOne(ctx, c, object, o); err != nil {
			failed = errors.Join(failed, fmt.Errorf("release %s %s/%s: %w", kind.Kind, object.Namespace, object.Name, err))
			continue
		}
		released++
	}
	return released, failed
}

// releaseOne takes the finalizer off one object, whatever others do to it.
func releaseOne(ctx context.Context, c client.Client, object *metav1.PartialObjectMetadata, o Options) error {
	what := fmt.Sprintf("%s off %s %s/%s%s", v1alpha1.Finalizer, object.Kind, object.Namespace, object.Name, terminating(object))
	if o.DryRun {
		say(o.Out, "would take %s", what)
		return nil
	}
	for {
		before := object.DeepCopy()
		controllerutil.RemoveFinalizer(object, v1alpha1.Finalizer)
		// A merge patch replaces the whole list: only as it was read.
		err := c.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			if err = c.Get(ctx, client.ObjectKeyFromObject(before), object); err == nil {
				continue
			}
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		say(o.Out, "took %s", what)
		return nil
	}
}

// nobodyWorks refuses while an operator holds the lease. Who may not look, is
// told and trusted.
func nobodyWorks(ctx context.Context, c client.Client, o Options) error {
	leases := &coordinationv1.LeaseList{}
	err := c.List(ctx, leases)
	if apierrors.IsForbidden(err) {
		say(o.Out, "leases cannot be looked at: make sure that no operator runs")
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for a running operator: %w", err)
	}
	for i := range leases.Items {
		if lease := &leases.Items[i]; lease.Name == o.Lease && held(&lease.Spec, time.Now()) {
			return fmt.Errorf("an operator works, and would put the finalizers back: it holds lease %s/%s as %s: "+
				"delete the custom resources and let it clean up, or stop it first; if it looks at other namespaces only, use --force",
				lease.Namespace, lease.Name, *lease.Spec.HolderIdentity)
		}
	}
	return nil
}

func held(lease *coordinationv1.LeaseSpec, now time.Time) bool {
	if lease.HolderIdentity == nil || *lease.HolderIdentity == "" || lease.RenewTime == nil || lease.LeaseDurationSeconds == nil {
		return false
	}
	return now.Before(lease.RenewTime.Add(time.Duration(*lease.LeaseDurationSeconds) * time.Second))
}

func terminating(object *metav1.PartialObjectMetadata) string {
	if object.DeletionTimestamp != nil {
		return ", which is being deleted"
	}
	return ""
}

// say writes a line for a reader; a writer that fails changes nothing.
func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}
