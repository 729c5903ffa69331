package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		if n.naming != Singleton {
			out[len(out)-1].always = neverBare
		}
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
			add("refused and back", exists, func(w *world) { w.put("a", "Alpha", "bad"); w.once(); w.put("a", "Alpha", "one") }, isFirst)
			out[len(out)-1].always = neverBare
			add("refused, and another one", func(w *world) { exists(w); w.mustSettle(); w.put("a", "Alpha", "bad") },
				func(w *world) { w.once(); w.put("a", "Alpha", "two") }, holdsOne("a", "Alpha", "two"))
			out[len(out)-1].always = neverBare
			add("begun anew and deleted", func(w *world) { exists(w); w.mustSettle(); w.put("a", "Alpha", "two"); stopAt(w, 4) },
				func(w *world) { w.remove("a") }, empty)
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
	return append(out, rotations()...)
}

// rotations are the ways in which a new key is asked for.
func rotations() []scenario {
	asked := func(w *world, token string) {
		metav1.SetMetaDataAnnotation(&w.put("a", "Alpha", "one").ObjectMeta, "rotate", token)
	}
	settled := func(w *world) { exists(w); w.mustSettle() }
	var out []scenario
	add := func(name string, before, change func(*world), check func(*world) error) {
		out = append(out, scenario{"keyed/" + name, Provisional, true, before, change, check, neverBare})
	}
	add("rotation", settled, func(w *world) { asked(w, "t1") }, rotated("Alpha", "t1", 2))
	add("rotation within the grace", func(w *world) { settled(w); asked(w, "t1"); w.mustSettle() },
		func(w *world) { asked(w, "t2") }, rotated("Alpha", "t2", 3))
	add("two tokens at once", func(w *world) { settled(w); asked(w, "t1"); stopAt(w, 4) },
		func(w *world) { asked(w, "t2") }, rotated("Alpha", "t2", 2))
	add("rotation at once", settled, func(w *world) { asked(w, "t1"); w.resources["a"].Data["grace"] = "0s" }, rotated("Alpha", "t1", 2))
	add("rotation and rename", settled,
		func(w *world) { asked(w, "t1"); w.resources["a"].Data["name"] = "Beta" }, rotated("Beta", "t1", 2))
	add("rotation, name taken meanwhile", func(w *world) {
		settled(w)
		asked(w, "t1")
		w.resources["a"].Data["name"] = "Beta"
		stopAfter(w, "publish")
		stranger(w)
	}, func(w *world) {
		w.mustSettle()
		w.things = slices.DeleteFunc(w.things, func(t Thing[string]) bool { return t.ID == 1000 })
	}, rotated("Beta", "t1", 2))
	add("rotation and loss", settled, func(w *world) { asked(w, "t1"); w.secrets = map[types.UID]int64{} }, rotated("Alpha", "t1", 2))
	add("token from the start", nil, func(w *world) { asked(w, "t1") }, rotated("Alpha", "t1", 1))
	out[len(out)-1].always = nil
	return out
}

// rotated: the token is acknowledged, at least that many objects were made, and
// one is left.
func rotated(name, token string, least int64) func(*world) error {
	return func(w *world) error {
		if got := (modelKind{w}).Load(w.resources["a"]).Rotated; got != token {
			return fmt.Errorf("token %q is acknowledged, not %q", got, token)
		}
		if w.lastID < least {
			return fmt.Errorf("%d objects were made: less than %d", w.lastID, least)
		}
		return holdsOne("a", name, "one")(w)
	}
}

// isFirst: the resource holds the object that was made first, and nothing was
// deleted to come to that.
func isFirst(w *world) error {
	if slices.Contains(w.log, "delete 1") {
		return fmt.Errorf("the first object was deleted")
	}
	return holdsOne("a", "Alpha", "one")(w)
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

// once runs one pass over the first resource, whatever becomes of it.
func (w *world) once() {
	if _, err := w.loop().Reconcile(context.Background(), request("a")); err != nil {
		panic(err)
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

// stopAfter runs until the operator ends after an effect of that name.
func stopAfter(w *world, effect string) {
	w.touch = func(what string, do func() error) error {
		err := do()
		if what == effect {
			panic(crash{})
		}
		return err
	}
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
