package remote

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// told keeps the Events that it takes, as "name reason".
type told struct{ events []string }

func (r *told) Eventf(about, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	o, _ := meta.Accessor(about)
	r.events = append(r.events, o.GetName()+" "+reason)
}

// leaving is a settled world whose only resource is being deleted, and a loop
// for it. What the loop counts bears the name of the test.
func leaving(t *testing.T, annotations map[string]string) (*world, *Loop[*resource, *world, string], *told) {
	t.Helper()
	w := newWorld(Provisional, false)
	w.put("a", "Alpha", "one")
	w.mustSettle()
	for k, v := range annotations {
		metav1.SetMetaDataAnnotation(&w.resources["a"].ObjectMeta, k, v)
	}
	w.remove("a")
	w.log = nil
	l, events := w.loop(), &told{}
	l.Recorder, l.Resource, l.Annotations = events, t.Name(), Annotations{ForceOrphan: "force"}
	l.Part = func(_ context.Context, o *resource) error { return w.effect("part", func() error { return nil }) }
	l.ServerObject = func(_ context.Context, key types.NamespacedName) (runtime.Object, error) {
		return &resource{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}, nil
	}
	return w, l, events
}

func pass1(t *testing.T, l *Loop[*resource, *world, string]) time.Duration {
	t.Helper()
	result, err := l.Reconcile(context.Background(), request("a"))
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

func expectGone(t *testing.T, w *world, things int, log ...string) {
	t.Helper()
	if len(w.resources) != 0 {
		t.Errorf("%d resources are left", len(w.resources))
	}
	if len(w.things) != things {
		t.Errorf("%d objects are on the server, want %d", len(w.things), things)
	}
	if !slices.Equal(w.log, log) {
		t.Errorf("calls: %q, want %q", w.log, log)
	}
}

func TestOrphan(t *testing.T) {
	w, l, events := leaving(t, map[string]string{"orphan": "yes"})
	w.touch = func(what string, do func() error) error {
		if what == "list" {
			t.Error("an object that stays was asked for")
		}
		return do()
	}
	pass1(t, l)
	expectGone(t, w, 1, "part")
	if !slices.Equal(events.events, []string{"a Orphaned"}) {
		t.Errorf("Events: %q", events.events)
	}
	if n := testutil.ToFloat64(releasedWithoutCleanup.WithLabelValues(t.Name(), "")); n != 0 {
		t.Errorf("counted %v times", n)
	}
}

func TestOrphanKeepsNothingUnfinished(t *testing.T) {
	w, l, _ := leaving(t, map[string]string{"orphan": "yes"})
	i := len(w.states) - 1
	w.things = append(w.things, Thing[string]{ID: 9, Name: "Alpha-retired-9", CreatedAt: "t9"})
	w.states[i].Retiring = []Retired{{ID: 9, CreatedAt: "t9", DeleteAfter: w.now.Add(time.Hour)}}
	metav1.SetMetaDataAnnotation(&w.resources["a"].ObjectMeta, statusAnnotation, strconv.Itoa(i))
	pass1(t, l)
	expectGone(t, w, 1, "delete 9", "part")
}

func TestForceOrphan(t *testing.T) {
	w, l, events := leaving(t, map[string]string{"force": "true"})
	w.touch = func(what string, do func() error) error {
		if what != "finalizers" {
			t.Errorf("call: %s", what)
		}
		return do()
	}
	pass1(t, l)
	expectGone(t, w, 1)
	if !slices.Equal(events.events, []string{"a Released"}) {
		t.Errorf("Events: %q", events.events)
	}
	if n := testutil.ToFloat64(releasedWithoutCleanup.WithLabelValues(t.Name(), "ForceOrphan")); n != 1 {
		t.Errorf("counted %v times", n)
	}
}

// released answers that there is nobody to clean up with.
type released struct{ modelKind }

func (released) Recorded(context.Context, *resource) (Place, *world, error) {
	return Place{}, nil, &Release{Reason: "ServerGone", Message: "gone", Server: types.NamespacedName{Name: "server"}}
}

func TestReleaseInTerminatingNamespace(t *testing.T) {
	w, l, events := leaving(t, nil)
	l.Kind = released{modelKind{w}}
	l.Terminating = func(context.Context, string) (bool, error) { return true, nil }
	pass1(t, l)
	expectGone(t, w, 1)
	if !slices.Equal(events.events, []string{"server Released"}) {
		t.Errorf("Events: %q", events.events)
	}
	if n := testutil.ToFloat64(releasedWithoutCleanup.WithLabelValues(t.Name(), "ServerGone")); n != 1 {
		t.Errorf("counted %v times", n)
	}
}

// stays refuses to delete in a way that shall not hold the resource back.
type stays struct{ modelKind }

func (stays) Delete(context.Context, *world, *resource, int64) error {
	return &Release{Reason: "PolicyLeft", Message: "stays"}
}

func TestReleaseOfWhatCannotBeDeleted(t *testing.T) {
	w, l, events := leaving(t, nil)
	l.Kind = stays{modelKind{w}}
	pass1(t, l)
	expectGone(t, w, 1)
	if !slices.Equal(events.events, []string{"a Released"}) {
		t.Errorf("Events: %q", events.events)
	}
}

// silence is a server that does not answer.
func silence(what string, do func() error) error {
	if what == "list" {
		return outcome.Unknown(synced, "ServerUnreachable", "no answer")
	}
	return do()
}

// hang drives the clock from pass to pass until a deletion counts as stuck, and
// returns the first pause.
func hang(t *testing.T, w *world, l *Loop[*resource, *world, string]) (first time.Duration) {
	t.Helper()
	stuck := w.now.Add(StuckAfter)
	for w.now.Before(stuck) {
		wait := pass1(t, l)
		first = cmp.Or(first, wait)
		if got := conditionOf(l, w, "Degraded"); got != "True ServerUnreachable" {
			t.Fatalf("%s before it is stuck: Degraded is %q", stuck.Sub(w.now), got)
		}
		if w.now.Add(wait).After(stuck) || wait <= 0 {
			t.Fatalf("%s before it is stuck it comes again in %s", stuck.Sub(w.now), wait)
		}
		w.now = w.now.Add(wait)
	}
	return first
}

// TestStuck: half an hour after the deletion, and not earlier, it is told to be
// stuck.
func TestStuck(t *testing.T) {
	w, l, events := leaving(t, nil)
	w.touch = silence
	if first := hang(t, w, l); first > time.Second {
		t.Errorf("the first pause of a deletion is %s", first)
	}
	if wait := pass1(t, l); wait < 30*time.Second {
		t.Errorf("comes again in %s, as if it had just begun", wait)
	}
	c := meta.FindStatusCondition(l.Kind.Load(w.resources["a"]).Conditions, "Degraded")
	if c == nil || c.Reason != "DeletionStuck" {
		t.Fatalf("half an hour later: Degraded is %v", c)
	}
	if !strings.Contains(c.Message, "no answer") || !strings.Contains(c.Message, "force: \"true\"") {
		t.Errorf("message: %q", c.Message)
	}
	version := w.version
	pass1(t, l)
	if w.version != version {
		t.Error("says the same once more")
	}
	if !slices.Equal(events.events, []string{"a ServerUnreachable", "a DeletionStuck"}) {
		t.Errorf("Events: %q", events.events)
	}
}

// TestDeletionBeginsItsOwnBackoff: what failed for long before the deletion
// does not delay it.
func TestDeletionBeginsItsOwnBackoff(t *testing.T) {
	w := newWorld(Provisional, false)
	w.put("a", "Alpha", "one")
	w.mustSettle()
	w.put("a", "Alpha", "two")
	w.touch = silence
	l := w.loop()
	long := time.Duration(0)
	for range 8 {
		long = pass1(t, l)
	}
	if long < 30*time.Second {
		t.Fatalf("the pause has grown to %s only", long)
	}
	w.remove("a")
	w.resources["a"].Generation++ // as the API server does
	if wait := pass1(t, l); wait > time.Second {
		t.Errorf("the deletion begins with a pause of %s", wait)
	}
	if wait := pass1(t, l); wait <= time.Second {
		t.Errorf("the pause of the deletion does not grow: %s", wait)
	}
}

// TestLetGoHoldsNothing: a resource that is there because of somebody else's
// finalizer is nobody's rival.
func TestLetGoHoldsNothing(t *testing.T) {
	w, l, _ := leaving(t, map[string]string{"orphan": "yes"})
	w.resources["a"].Finalizers = append(w.resources["a"].Finalizers, "other/finalizer")
	if len(l.holds(w.resources["a"])) != 1 {
		t.Error("holds nothing before it is let go")
	}
	pass1(t, l)
	if left := l.holds(w.resources["a"]); len(left) != 0 {
		t.Errorf("still holds %q", left)
	}
}

var errBroken = errors.New("broken")

func TestReleaseNeedsToKnowWhereToTell(t *testing.T) {
	w, l, _ := leaving(t, map[string]string{"force": "true"})
	l.Terminating = func(context.Context, string) (bool, error) { return false, errBroken }
	if _, err := l.Reconcile(context.Background(), request("a")); !errors.Is(err, errBroken) {
		t.Errorf("err: %v", err)
	}
	if len(w.resources) != 1 {
		t.Error("it was let go")
	}
}
