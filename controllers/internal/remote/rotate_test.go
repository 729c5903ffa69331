package remote

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// next is how long an undisturbed pass asks to wait.
func (w *world) next(t *testing.T) time.Duration {
	t.Helper()
	result, err := w.loop().Reconcile(context.Background(), request("a"))
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

// TestDueInTime: the pass that deletes a retired object comes at the very moment
// at which its grace ends, and not before; nothing is done until then.
func TestDueInTime(t *testing.T) {
	w := newWorld(Provisional, true)
	exists(w)
	w.mustSettle()
	metav1.SetMetaDataAnnotation(&w.put("a", "Alpha", "one").ObjectMeta, "rotate", "t1")
	w.now = w.now.Add(300 * time.Millisecond)
	start := w.now
	w.mustSettle()
	w.log = nil
	passes := 0
	for ; w.now.Before(start.Add(testGrace)); passes++ {
		if w.thing(1) == nil {
			t.Fatalf("deleted %v before the grace was over", start.Add(testGrace).Sub(w.now))
		}
		wait := w.next(t)
		if wait <= 0 {
			t.Fatal("comes again at once")
		}
		w.now = w.now.Add(wait)
	}
	if late := w.now.Sub(start.Add(testGrace)); late >= time.Second {
		t.Errorf("comes %v after the grace, which is kept in whole seconds", late)
	}
	if w.next(t); w.thing(1) != nil || len(w.log) != 1 {
		t.Errorf("the retired object is still there; log %v", w.log)
	}
	// The resync of this world is a minute, give or take a tenth.
	if passes > 70 {
		t.Errorf("%d passes in an hour", passes)
	}
}

// TestOverdueIsNotHot: what keeps a retired object from being deleted has its
// own time.
func TestOverdueIsNotHot(t *testing.T) {
	w := newWorld(Provisional, true)
	exists(w)
	w.mustSettle()
	metav1.SetMetaDataAnnotation(&w.put("a", "Alpha", "one").ObjectMeta, "rotate", "t1")
	w.mustSettle()
	w.now = w.now.Add(2 * testGrace)
	calls := 0
	w.suffer(&calls, cut{1, refused})
	if wait := w.next(t); wait < time.Second {
		t.Errorf("tries again after %v", wait)
	}
}

// TestTokens: a token is acted on once, one that was there when an object was
// taken over not at all, and the kind of what bears a key is exchanged like it.
func TestTokens(t *testing.T) {
	w := newWorld(Provisional, true)
	rotate := func(token string) {
		metav1.SetMetaDataAnnotation(&w.resources["a"].ObjectMeta, "rotate", token)
		w.mustSettle()
	}
	exists(w)
	w.mustSettle()
	for _, step := range []struct {
		token string
		made  int64
	}{{"t1", 2}, {"t1", 2}, {"", 2}, {"t1", 2}, {"t2", 3}, {"t1", 4}} {
		rotate(step.token)
		if w.lastID != step.made {
			t.Fatalf("token %q: %d objects were made, want %d", step.token, w.lastID, step.made)
		}
	}
	w.put("a", "Alpha", "another kind")
	w.mustSettle()
	if err := w.finish(); err != nil || w.lastID != 5 || len(w.things) != 1 || w.things[0].Body != "another kind" {
		t.Errorf("%v; %d objects were made, %+v is left", err, w.lastID, w.things)
	}

	// The status is lost, the Secret is not.
	r := w.resources["a"]
	delete(r.Annotations, statusAnnotation)
	r.Annotations["adopt"] = "yes"
	w.mustSettle()
	if s := (modelKind{w: w}).Load(r); w.lastID != 5 || s.Rotated != "t1" {
		t.Errorf("%d objects were made, %q is acknowledged", w.lastID, s.Rotated)
	}
}

// TestGivenKey: a key that somebody has kept is published before its object is
// recorded, and takes the place of a new one.
func TestGivenKey(t *testing.T) {
	w := newWorld(Provisional, true)
	w.things = []Thing[string]{{ID: 9, Name: "Alpha", CreatedAt: "long ago", Body: "one"}}
	w.lastID = 9
	metav1.SetMetaDataAnnotation(&w.put("a", "Alpha", "one").ObjectMeta, "adopt", "yes")
	w.mustSettle()
	if len(w.log) > 0 {
		t.Fatalf("without a key: %v", w.log)
	}
	w.given = 9
	w.mustSettle()
	if err := w.records("a", 9); err != nil || len(w.log) != 1 || w.log[0] != "publish" {
		t.Errorf("%v; log %v", err, w.log)
	}
	w.secrets = map[types.UID]int64{}
	w.mustSettle()
	if err := w.records("a", 9); err != nil || len(w.log) != 2 {
		t.Errorf("after a loss: %v; log %v", err, w.log)
	}
}
