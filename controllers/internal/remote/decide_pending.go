package remote

// finishProvisional completes an intent whose object bears a mark.
func finishProvisional(f facts) step {
	if f.pending.ID == 0 {
		return findBegun(f)
	}
	mine := f.begun()
	switch {
	case mine == nil:
		return step{do: identify, id: 0}
	case mine.KeyLost && mine.AtHand:
		return step{do: publish, id: mine.ID}
	case mine.KeyLost, mine.Differs && mine.Replace, f.taken() && f.pending.Replaces == 0:
		return step{do: discard, id: mine.ID}
	default:
		return f.unveil(mine)
	}
}

// unveil gives a finished object the wanted name and records it.
func (f facts) unveil(mine *seen) step {
	old := f.replaced()
	switch {
	case old != nil && !isMarked(old.Name):
		// First of all, since the wanted name may be its.
		return step{do: update, id: old.ID, name: retiredName(old.Name, old.ID)}
	case f.taken():
		// Its key is published, and may be in use by now: it is held under the
		// name that it has until the wanted one is free.
		return step{do: settle, id: mine.ID}
	case !f.bears(mine):
		return step{do: update, id: mine.ID, name: f.want}
	case mine.Differs:
		return step{do: update, id: mine.ID, name: mine.Name}
	default:
		return step{do: settle, id: mine.ID}
	}
}

// findBegun looks for the object of an intent whose create call has not been
// answered, or not to us.
func findBegun(f facts) step {
	marks := f.marks()
	switch {
	case len(marks) > 0 && f.taken(), len(marks) > 1:
		return step{do: discard, id: marks[len(marks)-1].ID}
	case len(marks) == 1:
		return step{do: identify, id: marks[0].ID}
	case f.taken():
		return step{do: forget}
	default:
		return step{do: create, name: f.pending.Name}
	}
}

// taken tells whether somebody else's object stands where the pending one is
// to go.
func (f facts) taken() bool {
	return f.refused || f.other(f.want, f.pending.ID, f.pending.Replaces) != nil
}

// finishFinal completes an intent whose object bears its own name from the
// start. A crash, a conflict and a lost answer look alike: only a fresh list
// tells them apart, and that this pass alone can have asked for it.
func finishFinal(f facts) step {
	x, old := f.sent(), f.replaced()
	switch {
	case x != nil && (f.made == x.ID || !x.Differs && x.Holder == "" && !f.foreign):
		return step{do: settle, id: x.ID}
	case x != nil, f.stale, f.refused:
		return step{do: forget}
	case old != nil && alike(old.Name, f.pending.Name):
		return f.makeWay(old)
	default:
		return step{do: create, name: f.pending.Name}
	}
}

// sent is the object that bears the name of the intent, whoever made it.
func (f facts) sent() *seen {
	p := f.pending
	if made := f.byID(f.made); made != nil && made.ID != p.Replaces && !isMarked(made.Name) {
		return made // under whatever spelling
	}
	if x := f.other(p.Name, p.Replaces, 0); x != nil || !f.refused || p.Replaces == 0 {
		return x
	}
	return f.akin(p.Name, p.Replaces, 0)
}

// makeWay frees the name that the new object is to have: the old one goes. An
// equal object under a marked name comes first and stands in until the new one
// is there. It also proves that the server takes what is about to be sent: what
// it refuses must not cost the team the object that it has.
func (f facts) makeWay(old *seen) step {
	switch x := f.leftover(); {
	case x == nil:
		return step{do: create, name: provisionalName(f.pending.Name, f.uid)}
	case x.Differs && x.ID != f.made:
		return step{do: discard, id: x.ID}
	default:
		return step{do: discard, id: old.ID}
	}
}
