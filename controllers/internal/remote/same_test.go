package remote

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func recordedAs(record string) func(*facts) {
	return func(f *facts) { f.record.Name = record }
}

// TestDecideWithoutCreationTime: the server gives none, so a name that has
// changed by itself may mean another object.
func TestDecideWithoutCreationTime(t *testing.T) {
	bare := func(name string) seen { return seen{ID: 1, Name: name} }
	with := func(changes ...func(*facts)) func(*facts) {
		return func(f *facts) {
			f.record.CreatedAt = ""
			for _, change := range changes {
				change(f)
			}
		}
	}
	for _, c := range []struct {
		name string
		f    facts
		want step
		gone bool // what a deletion deletes nothing of
	}{
		{"as recorded", holding(Provisional, bare("A")).with(with(recordedAs("A"))), step{do: done}, false},
		{"renamed by the spec", holding(Provisional, bare("B")).with(with(recordedAs("B"))), step{do: update, id: 1, name: "A"}, false},
		{"renamed on the server", holding(Provisional, bare("C")).with(with(recordedAs("A"))), step{do: refuse, id: 1, refusal: maybeAnother}, true},
		{"switch renamed on the server", holding(Final, bare("C")).with(with(recordedAs("A"))), step{do: refuse, id: 1, refusal: maybeAnother}, true},
		{"spelt anew by the server", holding(Provisional, bare("a")).with(with(recordedAs("A"))), step{do: update, id: 1, name: "A"}, false},
		{"times since then", holding(Provisional, seen{ID: 1, Name: "A", CreatedAt: "t1"}).with(with(recordedAs("A"))), step{do: done}, false},
		{"times since then, renamed", holding(Provisional, seen{ID: 1, Name: "C", CreatedAt: "t1"}).with(with(recordedAs("A"))),
			step{do: refuse, id: 1, refusal: maybeAnother}, true},
		{"times until then", holding(Provisional, bare("A")).with(recordedAs("A")), step{do: done}, false},
	} {
		if got := decide(c.f); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		want := step{do: remove, id: 1}
		if c.gone {
			want = step{do: unrecord}
		}
		c.f.want = ""
		if got := decideDelete(c.f); got != want {
			t.Errorf("%s, deleted: %+v, want %+v", c.name, got, want)
		}
	}
}

// normalizing makes the server of a world one that trims names and folds their
// case.
func normalizing(naming Naming, keyed bool) *world {
	w := newWorld(naming, keyed)
	w.spell = func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	return w
}

// TestNormalizingServer: what the server makes of a name is not drift, and no
// reason to write again.
func TestNormalizingServer(t *testing.T) {
	for name, k := range kinds() {
		w := normalizing(k.Naming, k.keyed)
		w.put("a", " Alpha  Team", "one")
		if err := errors.Join(w.finish(), holdsOne("a", "alpha team", "one")(w)); err != nil {
			t.Errorf("%s, made: %v; log %v", name, err, w.log)
		}
		settled := len(w.log)
		if err := w.finish(); err != nil || len(w.log) != settled {
			t.Errorf("%s, looked at again: %v; %v", name, err, w.log[settled:])
		}
		w.put("a", "Alpha TEAM", "two")
		if err := errors.Join(w.finish(), holdsOne("a", "alpha team", "two")(w)); err != nil {
			t.Errorf("%s, spelt otherwise: %v; log %v", name, err, w.log)
		}
		w.put("a", "Beta", "two")
		if err := errors.Join(w.finish(), holdsOne("a", "beta", "two")(w)); err != nil {
			t.Errorf("%s, renamed: %v; log %v", name, err, w.log)
		}
		w.remove("a")
		if err := errors.Join(w.finish(), empty(w)); err != nil {
			t.Errorf("%s, deleted: %v; log %v", name, err, w.log)
		}
	}
}

// TestNormalizingServerAdopts: on such a server an object is found again by a
// name that it does not bear literally, and a stranger's is left alone.
func TestNormalizingServerAdopts(t *testing.T) {
	for name, k := range kinds() {
		for _, leave := range []bool{true, false} {
			w := normalizing(k.Naming, k.keyed)
			w.things = []Thing[string]{{ID: 1000, Name: "alpha", CreatedAt: "long ago", Body: "one"}}
			r := w.put("a", "Alpha", "one")
			w.secrets[r.UID] = 1000
			if leave {
				r.Annotations = map[string]string{"adopt": "yes"}
			}
			for range 3 {
				if err := w.finish(); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(w.things, []Thing[string]{{ID: 1000, Name: "alpha", CreatedAt: "long ago", Body: "one"}}) {
				t.Errorf("%s, leave %t: %+v; log %v", name, leave, w.things, w.log)
			}
			leave = leave || k.keyed // which holds its key
			if held := (modelKind{w}).Load(w.resources["a"]).Record != nil; held != leave {
				t.Errorf("%s, leave %t: held %t; log %v", name, leave, held, w.log)
			}
		}
	}
}

// TestFoundByItsKey: an object that is found again by its key, because the status
// is lost or older than the last renaming, is given the wanted name. What it is
// called is not how the server spells that name.
func TestFoundByItsKey(t *testing.T) {
	w := newWorld(Provisional, true)
	w.things = []Thing[string]{{ID: 1000, Name: "beta", CreatedAt: "long ago", Body: "one"}}
	w.secrets[w.put("a", "Alpha", "one").UID] = 1000
	for range 3 {
		if err := w.finish(); err != nil {
			t.Fatal(err)
		}
	}
	if err := holdsOne("a", "Alpha", "one")(w); err != nil {
		t.Errorf("%v; log %v", err, w.log)
	}
}

// TestCopiedStatus: a resource whose status was copied from another one, with
// what that had recorded, begun or replaced, does nothing to it, deleted or not.
func TestCopiedStatus(t *testing.T) {
	for name, k := range kinds() {
		for stop := range 14 {
			for _, deleted := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, stopped at call %d, deleted %t", name, stop+1, deleted), func(t *testing.T) {
					copiedStatus(t, k, stop+1, deleted)
				})
			}
		}
	}
}

func copiedStatus(t *testing.T, k modelled, stop int, deleted bool) {
	w := newWorld(k.Naming, k.keyed)
	w.put("a", "Alpha", "one")
	w.mustSettle()
	w.put("a", "Alpha", "two")
	if k.keyed {
		w.secrets = map[types.UID]int64{} // so that it is replaced
	}
	stopAt(w, stop)
	copied := w.put("b", "Beta", "two")
	copied.Finalizers = []string{testFinalizer}
	copied.Annotations = map[string]string{statusAnnotation: w.resources["a"].Annotations[statusAnnotation]}
	if deleted {
		w.remove("b")
	}
	things, calls := slices.Clone(w.things), len(w.log)
	if _, err := w.loop().Reconcile(t.Context(), request("b")); err != nil {
		t.Fatal(err)
	}
	for _, call := range w.log[calls:] {
		if strings.HasPrefix(call, "delete") || deleted {
			t.Errorf("calls: %v", w.log[calls:])
		}
	}
	for _, thing := range things {
		if now := w.thing(thing.ID); now == nil || fmt.Sprint(*now) != fmt.Sprint(thing) {
			t.Errorf("%+v became %+v", thing, now)
		}
	}
}
