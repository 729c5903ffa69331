package remote

import (
	"cmp"
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
	// KeyLost: it handed out a key that we do not hold; AtHand when that key is
	// in memory and can be published.
	KeyLost, AtHand bool
	// KeyHeld: it handed out a key, which we hold.
	KeyHeld bool
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
	// foreign: this very pass has recorded the intent, and then the server has
	// called the name taken: who bears it was not made for us.
	foreign bool
	// stale: what the intent of a Final object has sent is not wanted any more.
	stale bool
	// rotate: somebody asks for a new object in the place of the recorded one.
	rotate bool
	// conflicted: the wanted name could not be had the last time.
	conflicted bool
	// spelt is the name that this very pass has given, where the server spells
	// it differently.
	spelt spelling
	// refused: the server says that the wanted name is in use although no
	// object in its list bears it.
	refused bool
	// orphans: what is recorded stays when the resource is deleted.
	orphans bool
	// unchanged: the spec is the one that was applied last, so a difference is
	// not of its making.
	unchanged bool
}

// current is the object that we have recorded, if it is still that one.
func (f facts) current() *seen {
	if f.record == nil || f.record.OwnerUID != f.uid || f.record.TeamID != f.place.TeamID {
		return nil
	}
	x := f.byID(f.record.ID)
	switch {
	case x == nil || !x.is(f.record.CreatedAt):
		// A recorded ID with another creation time is a different object.
		return nil
	case f.record.ServerUID == f.place.ServerUID:
		return x
	case x.CreatedAt != "" && x.CreatedAt == f.record.CreatedAt && f.bears(x):
		// The server came back as another one: only what agrees in ID,
		// creation time and name is still the same object.
		return x
	default:
		return nil
	}
}

// replaced is the object that the intent makes way for, if it is still the one
// that we have recorded.
func (f facts) replaced() *seen {
	x := f.byID(f.pending.Replaces)
	if x == nil || x.Holder != "" || f.record == nil || f.record.ID != x.ID || !x.is(f.record.CreatedAt) || f.mayBeAnother(x) {
		return nil
	}
	return x
}

// begun is the object that an intent has led to, if nobody else holds it.
func (f facts) begun() *seen {
	if x := f.byID(f.pending.ID); x != nil && x.Holder == "" {
		return x
	}
	return nil
}

// leftover is an object that bears our mark and that nothing remembers: two
// incarnations have acted on one intent, or a status was lost. Of a kind whose
// objects cannot be renamed it is what stood in for one while it was made anew.
func (f facts) leftover() *seen {
	if f.naming == Singleton {
		return nil
	}
	for i := range f.objects {
		o := &f.objects[i]
		if hasMark(o.Name, f.uid) && o.Holder == "" && (f.record == nil || f.record.ID != o.ID) && !f.isRetiring(o.ID) {
			return o
		}
	}
	return nil
}

func (f facts) isRetiring(id int64) bool {
	return slices.ContainsFunc(f.retiring, func(r Retired) bool { return r.ID == id })
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
	if x == nil || x.Holder != "" || !x.is(r.CreatedAt) {
		return false
	}
	// Without a creation time the name has to tell, where there is a mark.
	return x.CreatedAt != "" && r.CreatedAt != "" || f.naming == Final || isMarked(x.Name)
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

// marks are the objects that bear our mark, that nobody else holds and that the
// intent does not replace, the lowest ID first.
func (f facts) marks() []seen {
	var out []seen
	for _, o := range f.objects {
		if hasMark(o.Name, f.uid) && o.Holder == "" && !f.isRetiring(o.ID) && o.ID != f.pending.Replaces {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b seen) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
