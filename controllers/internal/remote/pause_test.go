package remote

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// annotated is a settled world whose only resource is looked at by a loop that
// obeys annotations.
func annotated(t *testing.T) (*world, *Loop[*resource, *world, string], *told) {
	t.Helper()
	w := newWorld(Provisional, false)
	w.put("a", "Alpha", "one")
	w.mustSettle()
	w.log = nil
	l, events := w.loop(), &told{}
	l.Recorder, l.Annotations = events, Annotations{ForceOrphan: "force", Paused: "paused", Reconcile: "reconcile"}
	return w, l, events
}

func (w *world) annotate(key, value string) {
	metav1.SetMetaDataAnnotation(&w.resources["a"].ObjectMeta, key, value)
}

func conditionOf(l *Loop[*resource, *world, string], w *world, kind string) string {
	c := meta.FindStatusCondition(l.Kind.Load(w.resources["a"]).Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func TestPaused(t *testing.T) {
	w, l, events := annotated(t)
	w.annotate("paused", "true")
	w.put("a", "Alpha", "two")
	w.things[0].Name = "drifted"
	if wait := pass1(t, l); wait != 0 {
		t.Errorf("comes again in %s without a reason", wait)
	}
	version := w.version
	pass1(t, l)
	if w.version != version {
		t.Error("says the same once more")
	}
	if len(w.log) != 0 {
		t.Errorf("calls: %q", w.log)
	}
	if conditionOf(l, w, "Paused") != "True Paused" || conditionOf(l, w, "Ready") != "Unknown Paused" || conditionOf(l, w, "Synced") != "True InSync" {
		t.Errorf("conditions: %+v", l.Kind.Load(w.resources["a"]).Conditions)
	}
	if got := strings.Join(events.events, ","); got != "a Paused" {
		t.Errorf("Events: %s", got)
	}

	w.annotate("paused", "no more")
	pass1(t, l)
	if w.things[0].Name != "Alpha" || w.things[0].Body != "two" {
		t.Errorf("not resumed: %+v", w.things)
	}
	if conditionOf(l, w, "Paused") != "" || conditionOf(l, w, "Ready") != "True Ready" {
		t.Errorf("conditions: %+v", l.Kind.Load(w.resources["a"]).Conditions)
	}
}

func TestPausedBeforeItBegan(t *testing.T) {
	w := newWorld(Provisional, false)
	r := w.put("a", "Alpha", "one")
	l := w.loop()
	l.Annotations.Paused = "paused"
	w.annotate("paused", "true")
	pass1(t, l)
	if len(w.things) != 0 || len(r.Finalizers) != 0 {
		t.Errorf("began although it is paused: %+v", w.things)
	}
}

func TestPausedKeepsReadyOfWhatWasApplied(t *testing.T) {
	w, l, _ := annotated(t)
	w.annotate("paused", "true")
	pass1(t, l)
	if conditionOf(l, w, "Ready") != "True Ready" {
		t.Errorf("conditions: %+v", l.Kind.Load(w.resources["a"]).Conditions)
	}
}

func TestPausedDoesNotKeepFromDeleting(t *testing.T) {
	w, l, _ := annotated(t)
	w.annotate("paused", "true")
	w.remove("a")
	pass1(t, l)
	expectGone(t, w, 0, "delete 1")
}

// TestUnpausedIntoSilence: that it is paused is not said for longer than it is.
func TestUnpausedIntoSilence(t *testing.T) {
	w, l, _ := annotated(t)
	w.annotate("paused", "true")
	pass1(t, l)
	w.annotate("paused", "")
	w.touch = silence
	pass1(t, l)
	if conditionOf(l, w, "Paused") != "" {
		t.Error("still says that it is paused")
	}
}

func TestReconcileToken(t *testing.T) {
	w, l, _ := annotated(t)
	w.snapshot = append([]Thing[string]{}, w.things...)
	w.things[0].Body = "drifted"
	pass1(t, l)
	if w.last != Snapshot || w.things[0].Body != "drifted" {
		t.Fatal("did not believe the snapshot")
	}
	long := strings.Repeat("ä", 200)
	w.annotate("reconcile", long)
	writes := w.version
	pass1(t, l)
	if w.things[0].Body != "one" {
		t.Error("believed the snapshot")
	}
	if w.version != writes+1 {
		t.Errorf("%d writes, want one", w.version-writes)
	}
	if got := l.Kind.Load(w.resources["a"]).Reconciled; got != strings.Repeat("ä", 128) {
		t.Errorf("acknowledged %q", got)
	}
	w.last = Fresh
	writes = w.version
	pass1(t, l)
	if w.last != Snapshot || w.version != writes {
		t.Error("looked anew, or wrote, once more")
	}
}

// TestReconcileTokenWaitsForAnAnswer: what could not be seen was not looked at.
func TestReconcileTokenWaitsForAnAnswer(t *testing.T) {
	w, l, _ := annotated(t)
	w.annotate("reconcile", "1")
	w.touch = silence
	for range 3 {
		if wait := pass1(t, l); wait < time.Second {
			t.Errorf("comes again in %s", wait)
		}
	}
	if got := l.Kind.Load(w.resources["a"]).Reconciled; got != "" {
		t.Errorf("acknowledged %q without an answer", got)
	}
	w.touch = func(_ string, do func() error) error { return do() }
	pass1(t, l)
	if got := l.Kind.Load(w.resources["a"]).Reconciled; got != "1" {
		t.Errorf("acknowledged %q", got)
	}
}

// TestAStatusOfBeforeIsNotBelieved: a pass that begins before the cache shows what
// the last one wrote finds its words in the status of before. Nobody would ever
// say them again.
func TestAStatusOfBeforeIsNotBelieved(t *testing.T) {
	w, l, _ := annotated(t)
	rests := pass1(t, l)
	before := w.resources["a"].DeepCopyObject().(*resource) //nolint:forcetypeassert // a copy has the type of its original
	w.annotate("paused", "true")
	pass1(t, l)
	after := w.resources["a"]
	w.resources["a"] = before
	if wait := pass1(t, l); wait == 0 || wait > rests/100 {
		t.Errorf("rests for %s on a status that is none any more", wait)
	}
	w.resources["a"] = after
	delete(after.Annotations, "paused")
	pass1(t, l)
	if conditionOf(l, w, "Ready") != "True Ready" {
		t.Errorf("conditions: %+v", l.Kind.Load(w.resources["a"]).Conditions)
	}
}
