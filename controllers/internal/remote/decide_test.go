package remote

import (
	"testing"
	"time"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// holding are the facts of a resource that has recorded object 1 as "A".
func holding(naming Naming, objects ...seen) facts {
	return facts{
		naming: naming, uid: "12345678-me", place: Place{ServerUID: "s", TeamID: 7}, now: noon, want: "A", objects: objects,
		record: &Record{Place: Place{ServerUID: "s", TeamID: 7}, ID: 1, CreatedAt: "t1", OwnerUID: "12345678-me"},
	}
}

// bare are the facts of a resource that has recorded nothing.
func bare(naming Naming, objects ...seen) facts {
	f := holding(naming, objects...)
	f.record = nil
	return f
}

func (f facts) with(change func(*facts)) facts {
	change(&f)
	return f
}

func pending(id, replaces int64) func(*facts) {
	return func(f *facts) { f.pending = &Pending{Name: f.newName(), ID: id, Replaces: replaces} }
}

func TestDecide(t *testing.T) {
	const mark = "A-terdut-12345678"
	mine := seen{ID: 1, Name: "A", CreatedAt: "t1"}
	named := func(o seen, name string) seen { o.Name = name; return o }
	differs, replaced := mine, mine
	differs.Differs, replaced.Differs, replaced.Replace = true, true, true
	other := seen{ID: 2, Name: "A", CreatedAt: "t2"}
	held, keyless := other, other
	held.Holder, keyless.KeyLost = "ns/other", true
	marked := seen{ID: 3, Name: mark, CreatedAt: "t3"}
	markedKeyless, markedHeld, markedFresh := marked, marked, marked
	markedKeyless.KeyLost, markedHeld.Holder = true, "ns/other"
	markedFresh.KeyLost, markedFresh.AtHand = true, true
	given := keyless
	given.AtHand = true
	lost, lostGiven := mine, mine
	lost.KeyLost, lostGiven.KeyLost, lostGiven.AtHand = true, true, true
	standIn, otherStandIn := marked, marked
	otherStandIn.Differs = true
	rotates := func(f *facts) { f.rotate = true }
	retiring := func(after time.Time) func(*facts) {
		return func(f *facts) { f.retiring = []Retired{{ID: 2, CreatedAt: "t2", DeleteAfter: after}} }
	}
	adopts := func(f *facts) { f.mayAdopt = true }
	for _, c := range []struct {
		name string
		f    facts
		want step
	}{
		{"settled", holding(Provisional, mine), step{do: done}},
		{"drifted name", holding(Provisional, named(mine, "B")), step{do: update, id: 1, name: "A"}},
		{"drifted body", holding(Provisional, differs), step{do: update, id: 1, name: "A"}},
		{"body that cannot change", holding(Final, replaced), step{do: intend, id: 1, name: "A"}},
		{"name that cannot change", holding(Final, named(mine, "B")), step{do: intend, id: 1, name: "A"}},
		{"new name is taken", holding(Provisional, named(mine, "B"), other), step{do: refuse, id: 2, refusal: notOurs}},
		{"new name is held", holding(Provisional, named(mine, "B"), held), step{do: refuse, id: 2, refusal: heldByOther}},
		{"new name is refused", holding(Provisional, named(mine, "B")).with(func(f *facts) { f.refused = true }), step{do: refuse, refusal: notOurs}},
		{"two records", holding(Provisional, seen{ID: 1, Name: "A", CreatedAt: "t1", Holder: "x"}), step{do: refuse, id: 1, refusal: claimedTwice}},
		{"same ID, another object", holding(Provisional, seen{ID: 1, Name: "A", CreatedAt: "later"}), step{do: refuse, id: 1, refusal: noLeave}},
		{"copied record", holding(Provisional, mine).with(func(f *facts) { f.uid = "other" }), step{do: refuse, id: 1, refusal: noLeave}},
		{"another server, same object", holding(Provisional, mine).with(func(f *facts) { f.place.ServerUID = "new" }), step{do: settle, id: 1}},
		{"another server, another name", holding(Provisional, named(mine, "B")).with(func(f *facts) { f.place.ServerUID = "new" }), step{do: intend, name: mark}},
		{"no creation time, drifted name", holding(Provisional, seen{ID: 1, Name: "B"}).with(func(f *facts) { f.record.CreatedAt, f.unchanged = "", true }),
			step{do: refuse, id: 1, refusal: maybeAnother}},
		{"no creation time, new name", holding(Provisional, seen{ID: 1, Name: "B"}).with(func(f *facts) { f.record.CreatedAt = "" }),
			step{do: update, id: 1, name: "A"}},
		{"gone", holding(Provisional), step{do: intend, name: mark}},
		{"not due", holding(Provisional, mine, other).with(retiring(noon.Add(1))), step{do: done}},
		{"due", holding(Provisional, mine, other).with(retiring(noon)), step{do: discard, id: 2}},
		{"due and gone", holding(Provisional, mine).with(retiring(noon)), step{do: drop, id: 2}},
		{"due and another object", holding(Provisional, mine, seen{ID: 2, CreatedAt: "later"}).with(retiring(noon)), step{do: drop, id: 2}},
		{"due and held", holding(Provisional, mine, held).with(retiring(noon)), step{do: drop, id: 2}},
		{"key lost within the grace", holding(Provisional, seen{ID: 1, Name: "A", CreatedAt: "t1", KeyLost: true}, named(other, "A-retired-2")).with(retiring(noon.Add(1))), step{do: discard, id: 2}},
		{"key lost", holding(Provisional, lost), step{do: intend, id: 1, name: mark}},
		{"key lost, a copy is given", holding(Provisional, lostGiven), step{do: publish, id: 1}},
		{"rotation", holding(Provisional, mine).with(rotates), step{do: intend, id: 1, name: mark}},
		{"rotation, a copy is given", holding(Provisional, lostGiven).with(rotates), step{do: intend, id: 1, name: mark}},
		{"rotation within the grace", holding(Provisional, mine, named(other, "A-retired-2")).with(retiring(noon.Add(1))).with(rotates), step{do: discard, id: 2}},
		{"rotation, the name is somebody else's too", holding(Provisional, mine, other).with(rotates), step{do: refuse, id: 2, refusal: notOurs}},
		{"rotation, the name is to change", holding(Provisional, named(mine, "B")).with(rotates), step{do: update, id: 1, name: "A"}},
		{"leftover", holding(Provisional, mine, marked), step{do: discard, id: 3}},
		{"leftover that is held", holding(Provisional, mine, markedHeld), step{do: done}},

		{"new", bare(Provisional), step{do: intend, name: mark}},
		{"new, final", bare(Final), step{do: intend, name: "A"}},
		{"new, held", bare(Final, held), step{do: refuse, id: 2, refusal: heldByOther}},
		{"new, an elder wants it", bare(Final).with(func(f *facts) { f.elder = "x" }), step{do: refuse, refusal: wantedByElder}},
		{"new, not ours", bare(Final, other), step{do: refuse, id: 2, refusal: noLeave}},
		{"adopted", bare(Final, other).with(adopts), step{do: settle, id: 2, adopted: true}},
		{"adopted with a key that is given", bare(Provisional, given).with(adopts), step{do: publish, id: 2}},
		{"adopted without its key", bare(Provisional, keyless).with(adopts), step{do: refuse, id: 2, refusal: keyUnknown}},
		{"empty singleton", bare(Singleton, seen{ID: 7, Name: "x", Empty: true}).with(adopts), step{do: settle, id: 7}},
		{"filled singleton", bare(Singleton, seen{ID: 7, Name: "x"}).with(adopts), step{do: settle, id: 7, adopted: true}},

		{"begun", bare(Provisional).with(pending(0, 0)), step{do: create, name: mark}},
		{"begun, answer lost", bare(Provisional, marked).with(pending(0, 0)), step{do: identify, id: 3}},
		{"begun twice", bare(Provisional, marked, seen{ID: 9, Name: mark}).with(pending(0, 0)), step{do: discard, id: 9}},
		{"begun, mark is held", bare(Provisional, markedHeld).with(pending(0, 0)), step{do: create, name: mark}},
		{"begun, name taken", bare(Provisional, other).with(pending(0, 0)), step{do: forget}},
		{"made, name taken", bare(Provisional, marked, other).with(pending(3, 0)), step{do: discard, id: 3}},
		{"made", bare(Provisional, marked).with(pending(3, 0)), step{do: update, id: 3, name: "A"}},
		{"made, gone", bare(Provisional).with(pending(3, 0)), step{do: identify}},
		{"made, key at hand", bare(Provisional, markedFresh).with(pending(3, 0)), step{do: publish, id: 3}},
		{"made, key lost", bare(Provisional, markedKeyless).with(pending(3, 0)), step{do: discard, id: 3}},
		{"renamed", bare(Provisional, named(marked, "A")).with(pending(3, 0)), step{do: settle, id: 3}},
		{"replacing", holding(Provisional, mine, marked).with(pending(3, 1)), step{do: update, id: 1, name: "A-retired-1"}},
		{"replacing, name taken before the key is published", holding(Provisional, mine, markedKeyless, other).with(pending(3, 1)), step{do: discard, id: 3}},
		{"replacing, name taken after it was", holding(Provisional, named(mine, "A-retired-1"), marked, other).with(pending(3, 1)), step{do: settle, id: 3}},

		{"sent", bare(Final).with(pending(0, 0)), step{do: create, name: "A"}},
		{"sent, answer lost", bare(Final, other).with(pending(0, 0)), step{do: settle, id: 2}},
		{"sent for the first time, and the name was taken", bare(Final, other).with(pending(0, 0)).with(func(f *facts) { f.foreign = true }), step{do: forget}},
		{"sent, a stranger was faster", bare(Final, held).with(pending(0, 0)), step{do: forget}},
		{"sent, wanted no more", bare(Final).with(pending(0, 0)).with(func(f *facts) { f.stale = true }), step{do: forget}},
		{"sent, the old one is in the way", holding(Final, replaced).with(pending(0, 1)), step{do: create, name: mark}},
		{"sent, something stands in", holding(Final, replaced, standIn).with(pending(0, 1)), step{do: discard, id: 1}},
		{"sent, something else stands in", holding(Final, replaced, otherStandIn).with(pending(0, 1)), step{do: discard, id: 3}},
		{"sent, what stands in is spelt otherwise", holding(Final, replaced, otherStandIn).with(pending(0, 1)).with(func(f *facts) { f.made = 3 }),
			step{do: discard, id: 1}},
		{"sent, only the stand-in is there", holding(Final, standIn).with(pending(0, 1)), step{do: create, name: "A"}},
		{"the stand-in has done its work", holding(Final, mine, standIn), step{do: discard, id: 3}},
		{"the stand-in is all that there is", holding(Final, standIn), step{do: intend, name: "A"}},
		{"sent, the old one is another object", holding(Final, seen{ID: 1, Name: "A", CreatedAt: "later"}).with(pending(0, 1)), step{do: create, name: "A"}},
	} {
		if got := decide(c.f); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestDecideDelete(t *testing.T) {
	left := func(f *facts) { f.orphans = true }
	mine := seen{ID: 1, Name: "A", CreatedAt: "t1"}
	marked := seen{ID: 3, Name: "A-terdut-12345678", CreatedAt: "t3"}
	for _, c := range []struct {
		name string
		f    facts
		want step
	}{
		{"held", holding(Provisional, mine), step{do: remove, id: 1}},
		{"held under another name", holding(Provisional, seen{ID: 1, Name: "B", CreatedAt: "t1"}), step{do: remove, id: 1}},
		{"gone", holding(Provisional), step{do: unrecord}},
		{"another object", holding(Provisional, seen{ID: 1, Name: "A", CreatedAt: "later"}), step{do: unrecord}},
		{"two records", holding(Provisional, seen{ID: 1, CreatedAt: "t1", Holder: "x"}), step{do: unrecord}},
		{"copied record", holding(Provisional, mine).with(func(f *facts) { f.uid = "other" }), step{do: unrecord}},
		{"nothing", bare(Provisional, seen{ID: 2, Name: "A"}), step{do: release}},
		{"retiring", holding(Provisional, mine, seen{ID: 2, CreatedAt: "t2"}).with(func(f *facts) { f.retiring = []Retired{{ID: 2, CreatedAt: "t2", DeleteAfter: noon.Add(time.Hour)}} }),
			step{do: discard, id: 2}},
		{"leftover", holding(Provisional, mine, marked), step{do: discard, id: 3}},
		{"begun", bare(Provisional, marked).with(pending(0, 0)), step{do: discard, id: 3}},
		{"begun, nothing there", bare(Provisional).with(pending(0, 0)), step{do: forget}},
		{"renamed, not recorded", bare(Provisional, seen{ID: 3, Name: "A"}).with(pending(3, 0)), step{do: discard, id: 3}},
		{"renamed, held by another", bare(Provisional, seen{ID: 3, Name: "A", Holder: "x"}).with(pending(3, 0)), step{do: forget}},
		{"sent", bare(Final, seen{ID: 3, Name: "A"}).with(pending(0, 0)), step{do: discard, id: 3}},
		{"sent, a stranger was faster", bare(Final, seen{ID: 3, Name: "A", Differs: true}).with(pending(0, 0)), step{do: forget}},
		{"singleton", holding(Singleton, mine), step{do: remove, id: 1}},
		{"left", holding(Provisional, mine).with(left), step{do: orphan}},
		{"left, gone", holding(Provisional).with(left), step{do: orphan}},
		{"left, a replaced one is not", holding(Provisional, mine, seen{ID: 2, CreatedAt: "t2"}).with(left).with(func(f *facts) { f.retiring = []Retired{{ID: 2, CreatedAt: "t2"}} }),
			step{do: discard, id: 2}},
		{"emptied", holding(Singleton, seen{ID: 1, Name: "A", CreatedAt: "t1", Empty: true}), step{do: unrecord}},
		{"left, a provisional one is not", holding(Provisional, mine, marked).with(left).with(pending(3, 1)), step{do: discard, id: 3}},
		{"left, nothing held", bare(Provisional).with(left), step{do: release}},
	} {
		if got := decideDelete(c.f); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	long := "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü"
	for _, name := range []string{provisionalName(long, "12345678-rest"), retiredName(long, 17)} {
		if !isMarked(name) || len([]rune(name)) > 64 {
			t.Errorf("%q", name)
		}
	}
	if !hasMark(provisionalName("A", "12345678-rest"), "12345678-rest") || hasMark("A", "12345678-rest") || hasMark("A-terdut-12345678", "") {
		t.Error("a mark is not told from a name")
	}
	if isMarked("the-retired-people") || isMarked("A") {
		t.Error("a name is taken for a mark")
	}
}
