package remote

import (
	"context"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// asked is a reader past the cache that keeps the names which lists ask for; ""
// asks for all.
type asked struct {
	client.Reader
	names []string
}

func (r *asked) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o, name := (&client.ListOptions{}).ApplyOptions(opts), ""
	if o.FieldSelector != nil {
		name, _ = o.FieldSelector.RequiresExactMatch(metav1.ObjectNameField)
	}
	r.names = append(r.names, name)
	return r.Reader.List(ctx, list, opts...)
}

// asking is a loop of which is known what it reads past the cache.
func asking(w *world) (*Loop[*resource, *world, string], *asked) {
	l := w.loop()
	live := &asked{Reader: l.Live}
	l.Live = live
	return l, live
}

// What is made rests on the intent, a write that an old version would have been
// refused.
func TestNobodyIsAskedWhereAWriteHasProvedTheVersion(t *testing.T) {
	w := newWorld(Provisional, false)
	w.put("a", "Alpha", "one")
	l, live := asking(w)
	pass1(t, l)
	if w.things[0].Name != "Alpha" || w.things[0].Body != "one" {
		t.Fatalf("made %+v", w.things)
	}
	if len(live.names) != 0 {
		t.Errorf("asked for %q", live.names)
	}
}

// However many objects there are, one is read.
func TestAnUpdateReadsOneObjectPastTheCache(t *testing.T) {
	w := newWorld(Provisional, false)
	w.put("a", "Alpha", "one")
	w.put("b", "Beta", "one")
	w.mustSettle()
	w.put("a", "Alpha", "two")
	l, live := asking(w)
	pass1(t, l)
	if w.things[0].Body != "two" {
		t.Fatalf("left as %+v", w.things)
	}
	if len(live.names) != 1 || live.names[0] != "a" {
		t.Errorf("asked for %q, want one list of %q", live.names, "a")
	}
}

func TestAnUpdateThatAnOldVersionAsksForIsNotMade(t *testing.T) {
	w := newWorld(Provisional, false)
	w.put("a", "Alpha", "one")
	w.mustSettle()
	old := w.put("a", "Alpha", "two").DeepCopy()
	w.put("a", "Alpha", "three")
	w.log = nil
	l, _ := asking(w)
	l.Client = &lagging{Client: l.Client, shows: old}
	pass1(t, l)
	if len(w.log) != 0 {
		t.Errorf("calls on the word of an old version: %q", w.log)
	}
}

// A cache may show an object for a while after it was let go.
func TestWhatWasLetGoIsLeftAlone(t *testing.T) {
	w, l, _ := leaving(t, nil)
	old := w.resources["a"].DeepCopy()
	pass1(t, l)
	expectGone(t, w, 0, "delete 1")
	w.touch = func(what string, do func() error) error {
		t.Errorf("call: %s", what)
		return do()
	}
	through := l.Client
	l.Client = &lagging{Client: through, shows: old}
	pass1(t, l)

	// Another one of that name is another one.
	l.Client = through
	w.touch = func(_ string, do func() error) error { return do() }
	w.put("a", "Alpha", "one").UID = "another"
	pass1(t, l)
	if len(w.things) != 1 {
		t.Errorf("the next one of that name has %+v", w.things)
	}
}

// A pass over what the cache still shows from before the last write would ask
// and tell once more what the one before has learnt.
func TestACacheThatIsBehindOurLastWriteIsWaitedFor(t *testing.T) {
	w := newWorld(Provisional, false)
	w.put("a", "Alpha", "one")
	l, events := w.loop(), &told{}
	l.Recorder = events
	through := &lagging{Client: l.Client}
	w.touch = func(what string, do func() error) error {
		if strings.HasPrefix(what, "create") {
			through.shows = w.resources["a"].DeepCopy()
		}
		return do()
	}
	pass1(t, l)
	if len(w.things) != 1 || through.shows == nil {
		t.Fatalf("made %+v", w.things)
	}
	w.touch = func(what string, do func() error) error {
		t.Errorf("call: %s", what)
		return do()
	}
	soon := l.Schedule.LookAgain().RequeueAfter
	l.Client, w.log = through, nil
	if again := pass1(t, l); again != soon {
		t.Errorf("looks again after %s, want %s", again, soon)
	}
	if !slices.Equal(events.events, []string{"a Created", "a Ready"}) {
		t.Errorf("told %q", events.events)
	}
}

// lagging is a cache that shows an old version of the only object.
type lagging struct {
	client.Client
	shows *resource
}

func (c *lagging) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.shows.DeepCopyInto(into.(*resource))
	return nil
}
