package remote

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// mode is how a call can end badly.
type mode int

const (
	crashBefore mode = iota // the process ends before the call
	crashAfter              // it ends after it: the memory of the pass is lost
	answerLost              // the call works, its answer does not arrive
	refused                 // the call does not work
	modes
)

func (m mode) String() string {
	return [...]string{"crash before", "crash after", "answer lost", "refused"}[m]
}

type crash struct{}

// pairWithin is how far apart, in calls, the two interruptions of a pair are;
// with FULL=1 in the environment there is no limit.
const pairWithin = 4

// cut is one bad ending: of the n-th call from the start.
type cut struct {
	n int
	mode
}

// suffer makes the world's calls end badly as the cuts say, and counts calls.
func (w *world) suffer(calls *int, cuts ...cut) {
	w.touch = func(what string, do func() error) error {
		*calls++
		if w.always != nil && w.broken == nil {
			w.broken = w.always(w)
		}
		i := slices.IndexFunc(cuts, func(c cut) bool { return c.n == *calls })
		if i < 0 {
			return do()
		}
		silence := outcome.Unknown(synced, "ServerUnreachable", "no answer")
		switch cuts[i].mode {
		case crashBefore:
			panic(crash{})
		case crashAfter:
			_ = do()
			panic(crash{})
		case answerLost:
			_ = do()
			return silence
		default:
			return silence
		}
	}
}

// survive settles the world; a crash starts the operator anew.
func (w *world) survive() (err error) {
	for range 4 {
		crashed := false
		func() {
			defer func() {
				switch reason := recover(); reason {
				case nil:
				case crash{}:
					crashed = true
				default:
					panic(reason)
				}
			}()
			err = w.settle()
		}()
		if !crashed && err == nil {
			return nil
		}
	}
	return err
}

// scenario is a change of a settled world.
type scenario struct {
	name   string
	naming Naming
	keyed  bool
	before func(*world) // nil: an empty world
	change func(*world)
	check  func(*world) error
	// always holds after each call; nil: nothing is asked.
	always func(*world) error
}

func exists(w *world) { w.put("a", "Alpha", "one") }

// scenarios are all sorts of changes for all sorts of names.
func scenarios() []scenario {
	var out []scenario
	for _, n := range []struct {
		name   string
		naming Naming
		keyed  bool
	}{{"team", Provisional, false}, {"keyed", Provisional, true}, {"switch", Final, false}, {"policy", Singleton, false}} {
		add := func(name string, before, change func(*world), check func(*world) error) {
			out = append(out, scenario{n.name + "/" + name, n.naming, n.keyed, before, change, check, nil})
		}
		add("create", nil, exists, holdsOne("a", "Alpha", "one"))
		add("body", exists, func(w *world) { w.put("a", "Alpha", "two") }, holdsOne("a", "Alpha", "two"))
		add("delete", exists, func(w *world) { w.remove("a") }, empty)
		if n.naming == Singleton {
			continue
		}
		add("rename", exists, func(w *world) { w.put("a", "Beta", "one") }, holdsOne("a", "Beta", "one"))
		out[len(out)-1].always = neverBare
		add("rename and body", exists, func(w *world) { w.put("a", "Beta", "two") }, holdsOne("a", "Beta", "two"))
		add("gone", exists, func(w *world) { w.things = nil }, holdsOne("a", "Alpha", "one"))
		add("begun and deleted", func(w *world) { w.put("a", "Alpha", "one"); stopAt(w, 4) }, func(w *world) { w.remove("a") }, empty)
		add("begun and renamed", func(w *world) { w.put("a", "Alpha", "one"); stopAt(w, 4) },
			func(w *world) { w.put("a", "Beta", "two") }, holdsOne("a", "Beta", "two"))
		if n.naming == Final {
			add("refused and corrected", func(w *world) { w.put("a", "Alpha", "bad"); stopAt(w, 5) },
				func(w *world) { w.put("a", "Alpha", "one") }, holdsOne("a", "Alpha", "one"))
		}
		add("taken name and back", func(w *world) { exists(w); w.mustSettle(); stranger(w); w.put("a", "Beta", "two"); w.mustSettle() },
			func(w *world) { w.put("a", "Alpha", "one") }, besideStranger(holdsOne("a", "Alpha", "one")))
		add("name taken meanwhile", func(w *world) {
			exists(w)
			w.mustSettle()
			w.put("a", "Beta", "two")
			stopAt(w, 2)
			stranger(w)
			w.mustSettle()
		},
			func(w *world) { w.put("a", "Alpha", "one") }, besideStranger(holdsOne("a", "Alpha", "one")))
		if n.keyed {
			add("key lost, renamed and back", func(w *world) {
				exists(w)
				w.mustSettle()
				w.secrets = map[types.UID]int64{}
				w.put("a", "Beta", "one")
			}, func(w *world) { w.mustSettle(); w.put("a", "Alpha", "one") }, holdsOne("a", "Alpha", "one"))
			add("key lost", exists, func(w *world) { w.secrets = map[types.UID]int64{} }, holdsOne("a", "Alpha", "one"))
			out[len(out)-1].always = neverBare
			add("key lost and renamed", exists, func(w *world) { w.secrets = map[types.UID]int64{}; w.put("a", "Beta", "one") },
				holdsOne("a", "Beta", "one"))
		}
	}
	return out
}

// stranger is an object of that nobody knows where a resource wants its own.
func stranger(w *world) {
	w.things = append(w.things, Thing[string]{ID: 1000, Name: "Beta", CreatedAt: "long ago", Body: "strange"})
}

// besideStranger: the stranger is as it was, and the rest is as asked.
func besideStranger(check func(*world) error) func(*world) error {
	return func(w *world) error {
		t := w.thing(1000)
		if t == nil || t.Name != "Beta" || t.Body != "strange" {
			return fmt.Errorf("the stranger became %+v", t)
		}
		w.things = slices.DeleteFunc(slices.Clone(w.things), func(t Thing[string]) bool { return t.ID == 1000 })
		return check(w)
	}
}

func (w *world) mustSettle() {
	if err := w.settle(); err != nil {
		panic(err)
	}
}

// neverBare: the team has an object at each moment, and one that fits a key
// that was published.
func neverBare(w *world) error {
	if len(w.things) == 0 {
		return errors.New("the team is bare")
	}
	for _, id := range w.secrets {
		if w.thing(id) == nil {
			return fmt.Errorf("the object of a published key, %d, is gone", id)
		}
	}
	return nil
}

// stopAt runs until the operator ends at the n-th call.
func stopAt(w *world, n int) {
	calls := 0
	w.suffer(&calls, cut{n, crashAfter})
	func() {
		defer func() { _ = recover() }()
		_ = w.settle()
	}()
	w.touch = func(_ string, do func() error) error { return do() }
}

// holdsOne: nothing is there but one object of that name and body, which the
// resource has recorded and whose key it has published.
func holdsOne(name, wantName, body string) func(*world) error {
	return func(w *world) error {
		if w.naming == Singleton {
			wantName = "policy"
		}
		if len(w.things) != 1 || w.things[0].Name != wantName || w.things[0].Body != body {
			return fmt.Errorf("want one %q with body %q, have %+v", wantName, body, w.things)
		}
		r := w.resources[name]
		s, id := modelKind{w}.Load(r), w.things[0].ID
		switch {
		case s.Record == nil || s.Record.ID != id || s.Record.OwnerUID != r.UID || s.Pending != nil || len(s.Retiring) > 0:
			return fmt.Errorf("state %+v does not record %d alone", s, id)
		case s.ObservedGeneration != r.Generation:
			return fmt.Errorf("generation %d was not applied", r.Generation)
		case w.keyed && w.secrets[r.UID] != id:
			return fmt.Errorf("published key of %d, not of %d", w.secrets[r.UID], id)
		}
		return nil
	}
}

func empty(w *world) error {
	if len(w.resources) > 0 {
		return fmt.Errorf("resources left: %v", sortedNames(w.resources))
	}
	if len(w.things) > 0 && (w.naming != Singleton || w.things[0].Body != "") {
		return fmt.Errorf("objects left: %+v", w.things)
	}
	return nil
}

// begin brings a world to where the scenario begins.
func (s scenario) begin(w *world) error {
	if s.before != nil {
		s.before(w)
		if len(w.log) == 0 { // not stopped half-way on purpose
			if err := w.settle(); err != nil {
				return err
			}
		}
	}
	s.change(w)
	w.log, w.always = nil, s.always
	return nil
}

// run plays a scenario with cuts and returns how many calls it took.
func (s scenario) run(cuts ...cut) (calls int, err error) {
	w := newWorld(s.naming, s.keyed)
	if err = s.begin(w); err != nil {
		return 0, err
	}
	w.suffer(&calls, cuts...)
	// A silence ends a pass without a trace, and a pass without a trace looks
	// settled: so more than once, and the last ones after the grace.
	for i := range 4 {
		if i == 2 {
			w.now = w.now.Add(2 * testGrace)
		}
		if err = w.survive(); err != nil {
			return calls, err
		}
	}
	if err = errors.Join(w.broken, s.check(w)); err != nil {
		return calls, fmt.Errorf("%w; log %v", err, w.log)
	}
	return calls, nil
}

// TestEveryInterruption cuts every scenario at every call in every way, and in
// every pair of ways: it always ends as if nothing had happened.
func TestEveryInterruption(t *testing.T) {
	total := 0
	for _, s := range scenarios() {
		calls, err := s.run()
		if err != nil {
			t.Errorf("%s, undisturbed: %v", s.name, err)
			continue
		}
		cuts := []cut{}
		for n := range calls + 2 {
			for m := range modes {
				cuts = append(cuts, cut{n + 1, m})
			}
		}
		for i, first := range cuts {
			for _, second := range cuts[i:] {
				if second.n > first.n+pairWithin && os.Getenv("FULL") == "" {
					break
				}
				total++
				if _, err := s.run(first, second); err != nil {
					t.Errorf("%s, %v at call %d, %v at call %d: %v", s.name, first.mode, first.n, second.mode, second.n, err)
					return
				}
			}
		}
	}
	t.Logf("%d runs over %d scenarios", total, len(scenarios()))
}
