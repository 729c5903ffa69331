package status

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestWritten(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	object := func(uid, version string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
	}
	w := &Written{}
	if w.Outdated(object("a", "7"), noon) {
		t.Error("outdated before anything was written")
	}
	w.Note(object("a", "10"), noon)
	for version, want := range map[string]bool{"7": true, "9": true, "10": false, "11": false, "no version": false} {
		if w.Outdated(object("a", version), noon) != want {
			t.Errorf("version %s after 10: outdated is not %t", version, want)
		}
	}
	if w.Outdated(object("b", "7"), noon) {
		t.Error("one object is outdated by a write to another")
	}
	// A cluster that was restored counts on from where it was.
	if w.Outdated(object("a", "7"), noon.Add(2*cacheLag)) {
		t.Error("outdated for ever")
	}
	w.Note(object("b", "3"), noon.Add(2*cacheLag))
	if len(w.last) != 1 {
		t.Errorf("%d writes are remembered, and one counts", len(w.last))
	}
}
