package transitions_test

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// later takes the end of the reference away from an object that has worked with
// it, and brings it back.
func (r reference) later(ctx context.Context, w, want *world) error {
	if err := r.leave(ctx, w); err != nil {
		return err
	}
	if err := w.says(ctx, r.lost); err != nil {
		return fmt.Errorf("after it went: %w", err)
	}
	if err := r.arrive(ctx, w); err != nil {
		return err
	}
	if err := same(ctx, w, want); err != nil {
		return fmt.Errorf("after it came back: %w", err)
	}
	return nil
}

// namesake makes something of another kind with the name that is referred to.
func (r reference) namesake(ctx context.Context, w *world) error {
	namespace := w.platform
	if strings.HasPrefix(r.path, "teamRef") {
		namespace = w.tenant
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: r.missing}}
	return env.Admin.Create(ctx, object)
}

// withdraw deletes one object of the documents of a world.
func (w *world) withdraw(ctx context.Context, name string) error {
	all, err := w.documents()
	if err != nil {
		return err
	}
	for _, object := range all {
		if object.GetName() == name {
			object.SetNamespace(w.platform)
			return env.Admin.Delete(ctx, object)
		}
	}
	return fmt.Errorf("find %s in testdata/world.yaml: it is not there", name)
}

// takeAway deletes what looked like the end of the reference, and waits until it
// is gone: it would show.
func (w *world) takeAway(ctx context.Context, kind, namespace string) error {
	object := w.shaped(kind, namespace, fields{})
	if err := env.Admin.Delete(ctx, object); err != nil {
		return fmt.Errorf("delete %s elsewhere: %w", kind, err)
	}
	return until(ctx, func() string {
		if err := seen.Get(ctx, client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
			return "it is still there"
		}
		return ""
	})
}
