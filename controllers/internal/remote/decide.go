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

// keep looks after an object that we hold: first its name, then the rest.
func keep(f facts, current *seen) step {
	if f.naming != Singleton && !f.bears(current) {
		return f.name(current)
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

// name gives an object that we hold the wanted name.
func (f facts) name(current *seen) step {
	namesake := f.namesake(f.want, current.ID, 0)
	switch {
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
	found := f.candidate()
	switch {
	case found != nil && found.Holder != "":
		return step{do: refuse, id: found.ID, refusal: heldByOther}
	case f.elder != "":
		return step{do: refuse, refusal: wantedByElder}
	case found != nil:
		return f.adopt(found)
	case f.refused:
		return step{do: refuse, refusal: notOurs}
	default:
		return step{do: intend, name: f.newName()}
	}
}

// candidate is the object that stands where a new one would.
func (f facts) candidate() *seen {
	if x := f.keyHeld(); x != nil {
		return x
	}
	if x := f.barred(); x != nil {
		return x
	}
	if f.naming == Singleton && len(f.objects) > 0 {
		return &f.objects[0]
	}
	return f.namesake(f.want, 0, 0)
}

// adopt makes an object that was there before us ours, if it may be.
func (f facts) adopt(found *seen) step {
	switch {
	case !f.mayAdopt && !found.KeyHeld:
		return step{do: refuse, id: found.ID, refusal: noLeave}
	case found.KeyLost && found.AtHand:
		return step{do: publish, id: found.ID}
	case found.KeyLost:
		return step{do: refuse, id: found.ID, refusal: keyUnknown}
	default:
		return step{do: settle, id: found.ID, adopted: !found.Empty}
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
