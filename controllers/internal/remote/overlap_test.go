package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// actor is one pass of one incarnation that can be held before each call.
type actor struct {
	next func() (string, bool)
	stop func()
}

// act starts a pass over a resource. It reads the resource and stops before
// its first call.
func (w *world) act(name string) *actor {
	a := &actor{}
	l := w.loop()
	a.next, a.stop = iter.Pull(func(yield func(string) bool) {
		w.yield = yield
		_, w.lastErr = l.Reconcile(context.Background(), request(name))
	})
	w.step(a)
	return a
}

// step lets an actor make one call and stops it before the next.
func (w *world) step(a *actor) bool {
	yield := w.yields[a]
	w.yield = yield
	_, more := a.next()
	w.yields[a] = w.yield
	return more
}

// overlap starts two passes on the same view of the world, lets the first make
// i calls, the second j, the first k more, and then the second and the first
// finish.
func (w *world) overlap(first, second string, i, j, k int) {
	w.yields = map[*actor]func(string) bool{}
	w.touch = func(what string, do func() error) error {
		mine := w.yield
		mine(what)
		return do()
	}
	a, b := w.act(first), w.act(second)
	for range i {
		w.step(a)
	}
	for range j {
		w.step(b)
	}
	for range k {
		w.step(a)
	}
	for w.step(b) {
	}
	for w.step(a) {
	}
	w.touch = func(_ string, do func() error) error { return do() }
}

// finish settles an undisturbed world, before and after the grace.
func (w *world) finish() error {
	if err := w.settle(); err != nil {
		return err
	}
	w.now = w.now.Add(2 * testGrace)
	return w.settle()
}

// TestTwoIncarnations runs two passes over one resource against each other, as
// a change of the leader can: it ends as if there had been one.
func TestTwoIncarnations(t *testing.T) {
	total := 0
	for _, s := range scenarios() {
		calls, err := s.run()
		if err != nil {
			t.Errorf("%s, undisturbed: %v", s.name, err)
			continue
		}
		n := calls + 2
		switch {
		case os.Getenv("FULL") != "":
		case raceDetector:
			n = min(n, 4)
		default:
			n = min(n, 9)
		}
		for ijk := range n * n * n {
			i, j, k := ijk/n/n, ijk/n%n, ijk%n
			total++
			w := newWorld(s.naming, s.keyed)
			if err := s.begin(w); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			w.overlap("a", "a", i, j, k)
			if err := errors.Join(w.finish(), s.check(w)); err != nil {
				t.Errorf("%s, %d calls of the first, %d of the second, %d of the first: %v; log %v", s.name, i, j, k, err, w.log)
				break
			}
		}
	}
	t.Logf("%d runs", total)
}

// rivals are two resources that want the same name; with equal bodies nothing
// on the server tells whose object is whose.
func rivals(naming Naming, keyed bool, secondBody string) *world {
	w := newWorld(naming, keyed)
	w.put("a", "Alpha", "one")
	w.put("b", "Alpha", secondBody)
	return w
}

// winner is the one resource that holds the one object.
func winner(w *world) (string, error) {
	var holders []string
	for name, r := range w.resources {
		s := modelKind{w}.Load(r)
		if s.Record == nil {
			continue
		}
		holders = append(holders, name)
		if t := w.thing(s.Record.ID); t == nil || t.Body != r.Data["body"] || w.keyed && w.secrets[r.UID] != t.ID {
			return "", fmt.Errorf("%s holds %+v, not what it wants", name, t)
		}
	}
	if len(holders) != 1 || len(w.things) != 1 || isMarked(w.things[0].Name) {
		return "", fmt.Errorf("held by %v: %+v", holders, w.things)
	}
	return holders[0], nil
}

// modelled is what the model of a kind differs in.
type modelled struct {
	Naming
	keyed bool
}

func kinds() map[string]modelled {
	return map[string]modelled{"team": {Provisional, false}, "keyed": {Provisional, true}, "switch": {Final, false}}
}

// TestRivals runs the first passes of two resources that want the same name
// against each other, with caches that show the other one and with caches that
// do not: one wins, and the loser goes without touching anything.
func TestRivals(t *testing.T) {
	n := 12
	if raceDetector {
		n = 4
	}
	for name, k := range kinds() {
		for variant := range 4 {
			body, blind := []string{"one", "two"}[variant%2], variant > 1
			for ijk := range n * n * n {
				i, j, again := ijk/n/n, ijk/n%n, ijk%n
				w := rivals(k.Naming, k.keyed, body)
				w.blind = blind
				w.overlap("a", "b", i, j, again)
				w.blind = false
				err := w.finish()
				won, werr := winner(w)
				if err = errors.Join(err, werr); err != nil {
					t.Errorf("%s, %d calls of the elder, %d of the younger, %d of the elder: %v; log %v", name, i, j, again, err, w.log)
					break
				}
				if err := w.loserGoes(won); err != nil {
					t.Errorf("%s, %d, %d and %d calls: %v", name, i, j, again, err)
					break
				}
			}
		}
	}
}

// loserGoes deletes the resource that has not won and tells what that did to
// the object of the one that has.
func (w *world) loserGoes(won string) error {
	things := slices.Clone(w.things)
	calls := len(w.log)
	for _, name := range sortedNames(w.resources) {
		if name != won {
			w.remove(name)
		}
	}
	if err := w.finish(); err != nil {
		return err
	}
	if len(w.resources) != 1 || !slices.Equal(things, w.things) || len(w.log) != calls {
		return fmt.Errorf("the loser went and did %v: %+v became %+v", w.log[calls:], things, w.things)
	}
	return nil
}

// TestRetiredNameIsFree: what a rotation leaves for a while does not stand in
// the way of the name that it had.
func TestRetiredNameIsFree(t *testing.T) {
	w := newWorld(Provisional, true)
	exists(w)
	w.mustSettle()
	w.secrets = map[types.UID]int64{}
	w.put("a", "Beta", "one")
	w.mustSettle()
	w.put("a", "Alpha", "one")
	w.mustSettle()
	if !w.taken("Alpha", 0) || w.taken("Beta", 0) || len(w.things) != 2 {
		t.Errorf("want Alpha and one that is retired: %+v", w.things)
	}
}

// TestElderWithoutLeave: an older resource that may not take over what is there
// does not keep a younger one from it that may.
func TestElderWithoutLeave(t *testing.T) {
	for name, k := range kinds() {
		w := rivals(k.Naming, false, "one")
		w.things = []Thing[string]{{ID: 1000, Name: "Alpha", CreatedAt: "long ago", Body: "one"}}
		metav1.SetMetaDataAnnotation(&w.resources["b"].ObjectMeta, "adopt", "yes")
		if err := w.finish(); err != nil {
			t.Fatal(err)
		}
		if won, err := winner(w); err != nil || won != "b" {
			t.Errorf("%s: %q won, %v", name, won, err)
		}
	}
}

// TestRivalsInterrupted cuts the passes of two rivals at every call.
func TestRivalsInterrupted(t *testing.T) {
	for name, k := range kinds() {
		for n := range 24 {
			for m := range modes {
				w := rivals(k.Naming, k.keyed, "one")
				calls := 0
				w.suffer(&calls, cut{n + 1, m})
				err := errors.Join(w.survive(), w.survive())
				w.touch = func(_ string, do func() error) error { return do() }
				err = errors.Join(err, w.finish())
				won, werr := winner(w)
				if err = errors.Join(err, werr); err == nil {
					err = w.loserGoes(won)
				}
				if err != nil {
					t.Errorf("%s, %v at call %d: %v; log %v", name, m, n+1, err, w.log)
				}
			}
		}
	}
}
