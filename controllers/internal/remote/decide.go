package remote

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
	orphan          // end: what is recorded stays
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
	noLeave
	maybeAnother
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
	current := f.current()
	if current != nil && current.Holder != "" {
		return step{do: refuse, id: current.ID, refusal: claimedTwice}
	}
	// Without an object of its own name, what stands in for it has to stay.
	if s, untidy := f.tidy(); untidy && (f.naming != Final || current != nil) {
		return s
	}
	if current != nil {
		return keep(f, current)
	}
	return begin(f)
}

// tidy deletes what is ours, replaced or unfinished, and of no use any more.
func (f facts) tidy() (step, bool) {
	if old := f.dueRetiree(); old != nil {
		return f.retire(old), true
	}
	if x := f.leftover(); x != nil && (f.record != nil || !x.KeyHeld) {
		return step{do: discard, id: x.ID}, true
	}
	return step{}, false
}

// keep looks after an object that we hold.
func keep(f facts, current *seen) step {
	namesake := f.namesake(f.want, current.ID, 0)
	switch {
	case f.naming == Singleton || f.bears(current):
	case namesake != nil:
		return step{do: refuse, id: namesake.ID, refusal: refusalFor(namesake)}
	case f.mayBeAnother(current):
		return step{do: refuse, id: current.ID, refusal: maybeAnother}
	case f.refused:
		return step{do: refuse, refusal: notOurs}
	case f.naming == Final:
		return f.replace(current)
	default:
		return step{do: update, id: current.ID, name: f.want}
	}
	switch {
	case current.Differs && current.Replace, f.rotate:
		return f.replace(current)
	case current.KeyLost && current.AtHand:
		return step{do: publish, id: current.ID}
	case current.KeyLost:
		return f.replace(current)
	case current.Differs:
		return step{do: update, id: current.ID, name: current.Name}
	case f.record.ServerUID != f.place.ServerUID:
		return step{do: settle, id: current.ID, adopted: f.record.Adopted}
	}
	return step{do: done}
}

// replace announces a new object in the place of current. What an earlier
// replacement has left goes first: there is never more than one. Where somebody
// else's stands in the way of the new one, current stays.
func (f facts) replace(current *seen) step {
	if x := f.namesake(f.want, current.ID, 0); x != nil {
		return step{do: refuse, id: x.ID, refusal: refusalFor(x)}
	}
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
	namesake := f.namesake(f.want, 0, 0)
	if f.naming == Singleton && len(f.objects) > 0 {
		namesake = &f.objects[0]
	}
	if x := f.barred(); x != nil {
		namesake = x
	}
	if x := f.keyHeld(); x != nil {
		namesake = x
	}
	switch {
	case namesake != nil && namesake.Holder != "":
		return step{do: refuse, id: namesake.ID, refusal: heldByOther}
	case f.elder != "":
		return step{do: refuse, refusal: wantedByElder}
	case f.refused && namesake == nil:
		return step{do: refuse, refusal: notOurs}
	case namesake == nil:
		return step{do: intend, name: f.newName()}
	case !f.mayAdopt && !namesake.KeyHeld:
		return step{do: refuse, id: namesake.ID, refusal: noLeave}
	case namesake.KeyLost && namesake.AtHand:
		return step{do: publish, id: namesake.ID}
	case namesake.KeyLost:
		return step{do: refuse, id: namesake.ID, refusal: keyUnknown}
	default:
		return step{do: settle, id: namesake.ID, adopted: !namesake.Empty}
	}
}

// finishProvisional completes an intent whose object bears a mark.
func finishProvisional(f facts) step {
	if f.pending.ID == 0 {
		return findBegun(f)
	}
	mine, old := f.begun(), f.replaced()
	switch {
	case mine == nil:
		return step{do: identify, id: 0}
	case mine.KeyLost && mine.AtHand:
		return step{do: publish, id: mine.ID}
	case mine.KeyLost, mine.Differs && mine.Replace, f.taken() && f.pending.Replaces == 0:
		return step{do: discard, id: mine.ID}
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
// tells them apart.
func finishFinal(f facts) step {
	p := f.pending
	x := f.other(p.Name, p.Replaces, 0)
	if x == nil && f.refused && p.Replaces != 0 {
		x = f.akin(p.Name, p.Replaces, 0)
	}
	if made := f.byID(f.made); made != nil && made.ID != p.Replaces && !isMarked(made.Name) {
		x = made // under whatever spelling
	}
	if x != nil {
		if f.made == x.ID || (!x.Differs && x.Holder == "") {
			return step{do: settle, id: x.ID}
		}
		return step{do: forget}
	}
	if f.stale || f.refused {
		return step{do: forget}
	}
	if old := f.replaced(); old != nil && alike(old.Name, p.Name) {
		return f.makeWay(old)
	}
	return step{do: create, name: p.Name}
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
