package transitions_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// longest are the lengths of the longest names of objects.
func longest(kind string) int {
	if kind == "TerdutServer" {
		return 50 // it becomes a Service
	}
	return 200
}

// settings are the world and the base in which a kind becomes ready by itself.
func settings(ctx context.Context, kind, name string) (*world, fields, error) {
	base, leaveOut := "main", ""
	if kind == "TerdutServer" {
		base, leaveOut = "tenants", "platform"
	}
	all, err := samplesOf(kind)
	if err != nil {
		return nil, nil, err
	}
	w, err := newWorld(ctx, kind, base, leaveOut)
	if err == nil && kind == "TerdutServer" {
		_, err = env.Network.Serve(w.platform, name, refserver.Options{})
	}
	return w, all.Bases[base], err
}

// named creates an object of that name, waits until it is ready, and deletes it.
// A name of one character more is refused.
func named(ctx context.Context, kind, name string) error {
	w, spec, err := settings(ctx, kind, name)
	if err != nil {
		return err
	}
	object := w.object(spec)
	object.SetName(name + "a")
	err = env.Admin.Create(ctx, object.DeepCopy())
	if inputs.refuse(apierrors.IsInvalid(err)); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.name") {
		return fmt.Errorf("a name of %d characters: %w", len(name)+1, err)
	}
	object.SetName(name)
	if err = env.Admin.Create(ctx, object); err != nil {
		return err
	}
	seenAs := func(right func(error) string) error {
		return until(ctx, func() string { return right(seen.Get(ctx, client.ObjectKeyFromObject(object), object)) })
	}
	err = seenAs(func(err error) string {
		if _, reason, message := readiness(object); err != nil || reason != v1alpha1.ReasonReady {
			return fmt.Sprintf("it is not ready: %s: %s (%v)", reason, message, err)
		}
		return ""
	})
	if err != nil {
		return err
	}
	if err = env.Admin.Delete(ctx, object); err != nil {
		return err
	}
	return seenAs(func(err error) string {
		if !apierrors.IsNotFound(err) {
			return "its deletion does not finish"
		}
		return ""
	})
}

var _ = Describe("the longest name of an object", func() {
	for _, kind := range kinds {
		It("is a name like others for a "+kind, func(ctx SpecContext) {
			Expect(named(ctx, kind, strings.Repeat("a", longest(kind)))).To(Succeed())
		})
	}
})
