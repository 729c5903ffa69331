package remote

import "strings"

// spelling is a name as it was asked for and as the server keeps it, where the
// two differ: some servers trim names or fold their case.
type spelling struct {
	id         int64
	asked, got string
}

// bears tells whether an object bears the wanted name, as the server spells it.
// What it has made of a name is remembered, so that the name is not asked for
// again and again.
func (f facts) bears(x *seen) bool {
	switch {
	case x.Name == f.want:
		return true
	case f.spelt == (spelling{id: x.ID, asked: f.want, got: x.Name}):
		return true
	default:
		r := f.record
		return r != nil && r.ID == x.ID && r.AskedName == f.want && r.Name == x.Name
	}
}

// is tells whether an object is the one that was recorded with that creation
// time. Where one of the two has none, the ID alone speaks for it, and
// mayBeAnother against it.
func (x *seen) is(createdAt string) bool {
	return x.CreatedAt == createdAt || x.CreatedAt == "" || createdAt == ""
}

// mayBeAnother tells whether an object that has the recorded ID may be another
// one: no creation time tells, and its name has changed by itself.
func (f facts) mayBeAnother(x *seen) bool {
	r := f.record
	switch {
	case f.naming == Singleton || r.CreatedAt != "" && x.CreatedAt != "":
		return false
	case r.Name == "":
		return f.unchanged && x.Name != f.want
	default:
		return !alike(x.Name, r.Name) && !alike(x.Name, f.want) && !isMarked(x.Name)
	}
}

// alike tells names that a server may take for the same one.
func alike(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}

// namesake is the object of the wanted name besides those two. If the server
// calls the name taken and shows nobody who bears it, it is the only object
// whose name differs from it in spelling.
func (f facts) namesake(name string, not, nor int64) *seen {
	if x := f.other(name, not, nor); x != nil || !f.refused {
		return x
	}
	return f.akin(name, not, nor)
}

// barred is the object that has kept this one from its name before, if it still
// does: the server takes the two names for one, which does not have to be tried
// again and again.
func (f facts) barred() *seen {
	if !f.conflicted || f.other(f.want, 0, 0) != nil {
		return nil
	}
	if x := f.akin(f.want, 0, 0); x != nil && (x.Holder != "" || !f.mayAdopt) {
		return x
	}
	return nil
}

// keyHeld is the object whose key we hold although nothing is recorded any
// more: it is ours, whatever its name.
func (f facts) keyHeld() *seen {
	for i := range f.objects {
		if o := &f.objects[i]; o.KeyHeld && o.Holder == "" && !f.isRetiring(o.ID) {
			return o
		}
	}
	return nil
}

// akin is the only object besides those two whose name differs from name in
// nothing but spelling.
func (f facts) akin(name string, not, nor int64) *seen {
	var found *seen
	for i := range f.objects {
		o := &f.objects[i]
		if o.ID == not || o.ID == nor || !alike(o.Name, name) {
			continue
		}
		if found != nil {
			return nil
		}
		found = o
	}
	return found
}

// freshen brings what is recorded of an object that stands as it should up to
// date with how the server shows it.
func (p *pass[T, A, D]) freshen() {
	r := p.state.Record
	if r == nil || p.thing(r.ID) == nil {
		return
	}
	t := p.thing(r.ID)
	if r.CreatedAt == "" {
		r.CreatedAt = t.CreatedAt
	}
	if p.Naming != Singleton {
		r.Name, r.AskedName = t.Name, p.askedName(t)
	}
}

// askedName is the wanted name, where an object that bears it shows another
// spelling. One that still bears our mark, and one that was found by its key
// under quite another name, was not asked to bear it yet.
func (p *pass[T, A, D]) askedName(t *Thing[D]) string {
	r := p.state.Record
	switch {
	case t.Name == p.want.Name || isMarked(t.Name):
		return ""
	case p.spelt == (spelling{id: t.ID, asked: p.want.Name, got: t.Name}), alike(t.Name, p.want.Name),
		r != nil && r.ID == t.ID && r.AskedName == p.want.Name && r.Name == t.Name:
		return p.want.Name
	}
	return ""
}

// owned is a state without what was copied or restored from another resource:
// a record under another UID, and what hangs on it, is a hint at most, and so is
// an intent.
func (l *Loop[T, A, D]) owned(obj T, s State[D]) State[D] {
	if r := s.Record; r != nil && r.OwnerUID != obj.GetUID() {
		s.Record = nil
	}
	if s.Record == nil {
		s.Retiring = nil
	}
	if p := s.Pending; p != nil && p.OwnerUID != obj.GetUID() {
		s.Pending = nil
	}
	return s
}
