package remote

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

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
		return w.records(name, w.things[0].ID)
	}
}

// records: the resource has recorded that object, and nothing besides.
func (w *world) records(name string, id int64) error {
	r := w.resources[name]
	s := modelKind{w}.Load(r)
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

func empty(w *world) error {
	if len(w.resources) > 0 {
		return fmt.Errorf("resources left: %v", sortedNames(w.resources))
	}
	if len(w.things) > 0 && (w.naming != Singleton || w.things[0].Body != "") {
		return fmt.Errorf("objects left: %+v", w.things)
	}
	return nil
}
