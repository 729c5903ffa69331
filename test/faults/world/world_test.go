package world_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
)

// TestViewsShowThePast: a view shows each kind as it was at a revision, and only
// what its filter lets pass.
func TestViewsShowThePast(t *testing.T) {
	w, err := world.New()
	if err != nil {
		t.Fatal(err)
	}
	c := w.Client(w.Live(), nil)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}}
	must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}))
	before := w.Revision()
	must(t, c.Create(t.Context(), secret))
	created := w.Revision()
	must(t, c.Delete(t.Context(), secret))

	at := before
	view := w.Live()
	view.At = func(string) int64 { return at }
	for _, want := range []struct {
		at    int64
		there bool
	}{{before, false}, {created, true}, {w.Revision(), false}} {
		at = want.at
		list := &corev1.SecretList{}
		must(t, view.List(t.Context(), list, client.InNamespace("a")))
		err := view.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{})
		if (len(list.Items) == 1) != want.there || (err == nil) != want.there {
			t.Errorf("at revision %d: list %d, get %v", at, len(list.Items), err)
		}
	}
}

// TestCallsAreSeen: whoever is around a client sees each call and may keep it
// from being carried out.
func TestCallsAreSeen(t *testing.T) {
	w, err := world.New()
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	c := w.Client(w.Live(), func(_ context.Context, call world.Call, _ func() error) error {
		calls = append(calls, call.Verb+" "+call.ID.String())
		return world.ErrUnreachable
	})
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err == nil {
		t.Error("the error is not the caller's")
	}
	if len(calls) != 1 || calls[0] != "create Namespace /a" || w.Revision() != 0 {
		t.Errorf("calls %v, revision %d", calls, w.Revision())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
