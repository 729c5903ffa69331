package remote

// decideDelete says what comes next for a resource that is being deleted. Only
// what is provably ours is deleted; what is ours follows from what was
// recorded, never from what the spec says today.
func decideDelete(f facts) step {
	switch {
	case f.pending != nil:
		if x := f.pendingObject(); x != nil {
			return step{do: discard, id: x.ID}
		}
		return step{do: forget}
	case len(f.retiring) > 0:
		return f.retire(&f.retiring[0])
	case f.leftover() != nil:
		return step{do: discard, id: f.leftover().ID}
	case f.record != nil && f.orphans:
		return step{do: orphan}
	case f.record != nil:
		// An empty singleton needs no second call after a pass that was cut off.
		if x := f.recordedObject(); x != nil && !x.Empty {
			return step{do: remove, id: x.ID}
		}
		return step{do: unrecord}
	default:
		return step{do: release}
	}
}

// pendingObject is what an unfinished creation has left on the server.
func (f facts) pendingObject() *seen {
	p := f.pending
	if f.naming == Final {
		x := f.akin(p.Name, p.Replaces, 0)
		if x != nil && !x.Differs && x.Holder == "" {
			return x
		}
		return nil
	}
	if marks := f.marks(); len(marks) > 0 {
		return f.byID(marks[0].ID)
	}
	// Renamed already, but not recorded yet.
	return f.begun()
}

// recordedObject is the recorded object, if it is still that one and nobody
// else has recorded it too.
func (f facts) recordedObject() *seen {
	if x := f.current(); x != nil && x.Holder == "" && !f.mayBeAnother(x) {
		return x
	}
	return nil
}
