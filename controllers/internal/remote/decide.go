package remote

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// seen is what the decision needs to know of an object on the server.
type seen struct {
	ID        int64
	Name      string
	CreatedAt string
	// Differs from the wanted body (for a pending Final: from the one that was
	// sent); Replace when it cannot be changed in place.
	Differs, Replace bool
	// KeyLost: it handed out a key that we do not hold.
	KeyLost bool
	// Empty: a singleton that nobody has filled.
	Empty bool
	// Holder is the other resource that has recorded it; empty when none has.
	Holder string
}

// facts is all that a decision rests on.
type facts struct {
	naming   Naming
	uid      types.UID
	place    Place
	now      time.Time
	record   *Record
	pending  *Pending
	retiring []Retired
	want     string
	objects  []seen
	// elder is the older resource that wants the same name, when neither has
	// recorded anything; empty when there is none.
	elder string
	// mayAdopt: an unmarked object of the wanted name may be taken over.
	mayAdopt bool
	// made is the ID of the object that this very pass has created; its yield
	// is still in memory.
	made int64
}

// action is one effect, or the end.
type action int

const (
	done     action = iota
	intend          // record in status that name will be created, replacing id
	create          // create name
	identify        // record that the pending object is id
	publish         // hand on what the create answer of id held
	update          // make id bear name and the wanted body
	settle          // record id as ours, nothing pending
	discard         // delete id, which is pending, replaced or retired
	forget          // drop the intent
	drop            // drop the retired id, which is gone
	refuse          // end: the name is held by somebody else
	remove          // delete id, which is recorded
	unrecord        // drop the record, whose object is gone or not ours
	release         // end: nothing of ours is left
)

// step is a decision: one action and its arguments.
type step struct {
	do      action
	id      int64
	name    string
	adopted bool
	refusal refusal
}

// refusal says why an object cannot be had.
type refusal int

const (
	heldByOther refusal = iota + 1
	wantedByElder
	notOurs
	keyUnknown
	claimedTwice
)

// decide says what comes next for an object that should be there. It is pure;
// every effect leads to a state from which it decides the next one, so an
// interruption anywhere is only a pause.
func decide(f facts) step {
	switch {
	case f.pending != nil && f.naming == Final:
		return finishFinal(f)
	case f.pending != nil:
		return finishProvisional(f)
	}
	if current := f.current(); current != nil {
		return keep(f, current)
	}
	return begin(f)
}

// keep looks after an object that we hold.
func keep(f facts, current *seen) step {
	namesake := f.other(f.want, current.ID, 0)
	switch {
	case current.Holder != "":
		return step{do: refuse, id: current.ID, refusal: claimedTwice}
	case f.naming == Singleton || current.Name == f.want:
	case namesake != nil:
		return step{do: refuse, id: namesake.ID, refusal: refusalFor(namesake)}
	case f.naming == Final:
		return f.replace(current)
	default:
		return step{do: update, id: current.ID, name: f.want}
	}
	switch {
	case current.Differs && current.Replace, current.KeyLost:
		return f.replace(current)
	case current.Differs:
		return step{do: update, id: current.ID, name: f.want}
	case f.record.ServerUID != f.place.ServerUID:
		return step{do: settle, id: current.ID, adopted: f.record.Adopted}
	}
	if old := f.dueRetiree(); old != nil {
		return f.retire(old)
	}
	return step{do: done}
}

// replace announces a new object in the place of current. What an earlier
// replacement has left goes first: there is never more than one.
func (f facts) replace(current *seen) step {
	if len(f.retiring) > 0 {
		return f.retire(&f.retiring[0])
	}
	return step{do: intend, name: f.newName(), id: current.ID}
}

// retire deletes a retired object, or drops its record when it is gone.
func (f facts) retire(old *Retired) step {
	if f.isStill(old) {
		return step{do: discard, id: old.ID}
	}
	return step{do: drop, id: old.ID}
}

// begin finds or announces an object that we do not hold yet.
func begin(f facts) step {
	namesake := f.other(f.want, 0, 0)
	if f.naming == Singleton && len(f.objects) > 0 {
		namesake = &f.objects[0]
	}
	switch {
	case namesake != nil && namesake.Holder != "":
		return step{do: refuse, id: namesake.ID, refusal: heldByOther}
	case f.elder != "":
		return step{do: refuse, refusal: wantedByElder}
	case namesake == nil:
		return step{do: intend, name: f.newName()}
	case !f.mayAdopt:
		return step{do: refuse, id: namesake.ID, refusal: notOurs}
	case namesake.KeyLost:
		return step{do: refuse, id: namesake.ID, refusal: keyUnknown}
	default:
		return step{do: settle, id: namesake.ID, adopted: !namesake.Empty}
	}
}

// finishProvisional completes an intent whose object bears a mark.
func finishProvisional(f facts) step {
	p := f.pending
	taken := f.other(f.want, p.ID, p.Replaces)
	if p.ID == 0 {
		marks := f.named(p.Name)
		switch {
		case len(marks) > 0 && taken != nil, len(marks) > 1:
			return step{do: discard, id: marks[len(marks)-1].ID}
		case len(marks) == 1:
			return step{do: identify, id: marks[0].ID}
		case taken != nil:
			return step{do: forget}
		default:
			return step{do: create, name: p.Name}
		}
	}

	mine, old := f.byID(p.ID), f.byID(p.Replaces)
	switch {
	case mine == nil:
		return step{do: identify, id: 0}
	case mine.KeyLost && f.made == mine.ID:
		return step{do: publish, id: mine.ID}
	case mine.KeyLost, taken != nil, mine.Differs && mine.Replace:
		return step{do: discard, id: mine.ID}
	case mine.Name == f.want && !mine.Differs:
		return step{do: settle, id: mine.ID}
	case old != nil && old.Name == f.want:
		return step{do: update, id: old.ID, name: retiredName(f.want, old.ID)}
	default:
		return step{do: update, id: mine.ID, name: f.want}
	}
}

// finishFinal completes an intent whose object bears its own name from the
// start. A crash, a conflict and a lost answer look alike: only a fresh list
// tells them apart.
func finishFinal(f facts) step {
	p := f.pending
	if x := f.other(p.Name, p.Replaces, 0); x != nil {
		if f.made == x.ID || (!x.Differs && x.Holder == "") {
			return step{do: settle, id: x.ID}
		}
		return step{do: forget}
	}
	if old := f.byID(p.Replaces); old != nil && old.Name == p.Name {
		// The name must be free first. The intent stands, so a crash between
		// the two calls cannot leave the team without its object.
		return step{do: discard, id: old.ID}
	}
	return step{do: create, name: p.Name}
}

// current is the object that we have recorded, if it is still that one.
func (f facts) current() *seen {
	if f.record == nil || f.record.OwnerUID != f.uid || f.record.TeamID != f.place.TeamID {
		return nil
	}
	x := f.byID(f.record.ID)
	switch {
	case x == nil || x.CreatedAt != f.record.CreatedAt:
		// A recorded ID with another creation time is a different object.
		return nil
	case f.record.ServerUID == f.place.ServerUID:
		return x
	case x.CreatedAt != "" && x.Name == f.want:
		// The server came back as another one: only what agrees in ID,
		// creation time and name is still the same object.
		return x
	default:
		return nil
	}
}

func (f facts) dueRetiree() *Retired {
	for i := range f.retiring {
		if r := &f.retiring[i]; !r.DeleteAfter.After(f.now) {
			return r
		}
	}
	return nil
}

// isStill tells whether a retired object is on the server and still the one
// that was retired.
func (f facts) isStill(r *Retired) bool {
	x := f.byID(r.ID)
	return x != nil && x.CreatedAt == r.CreatedAt && x.Holder == ""
}

func (f facts) byID(id int64) *seen {
	i := slices.IndexFunc(f.objects, func(o seen) bool { return id != 0 && o.ID == id })
	if i < 0 {
		return nil
	}
	return &f.objects[i]
}

// other is the object of that name besides those two.
func (f facts) other(name string, not, nor int64) *seen {
	for i := range f.objects {
		if o := &f.objects[i]; o.Name == name && o.ID != not && o.ID != nor {
			return o
		}
	}
	return nil
}

// named are the objects of that name, the lowest ID first.
func (f facts) named(name string) []seen {
	var out []seen
	for _, o := range f.objects {
		if o.Name == name {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b seen) int { return int(a.ID - b.ID) })
	return out
}

func (f facts) newName() string {
	if f.naming == Provisional {
		return provisionalName(f.want, f.uid)
	}
	return f.want
}

func refusalFor(x *seen) refusal {
	if x.Holder != "" {
		return heldByOther
	}
	return notOurs
}
