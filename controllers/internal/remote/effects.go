package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// do carries out one step. What makes, changes or deletes something that nothing
// remembers rests on a proof that is as old as the step before it at most.
func (p *pass[T, A, D]) do(ctx context.Context, s step) error {
	if s.restsOnLatest() {
		if err := p.proveLatest(ctx); err != nil {
			return err
		}
	}
	p.latest = false
	switch s.do {
	case intend:
		return p.intend(ctx, s)
	case create:
		return p.create(ctx, s)
	case identify:
		return p.identify(ctx, s.id)
	case publish:
		return p.publish(ctx, s.id)
	case update:
		return p.update(ctx, s)
	case settle:
		return p.settle(ctx, s)
	case discard, remove:
		return p.delete(ctx, s)
	case refuse:
		return p.refuse(ctx, s)
	default: // forget, drop, unrecord: memory only
		p.forget(s)
		return nil
	}
}

// remember writes the state before the effect that needs it.
func (p *pass[T, A, D]) remember(ctx context.Context) error {
	return p.save(ctx, p.state)
}

func (p *pass[T, A, D]) intend(ctx context.Context, s step) error {
	p.lost = p.state.Record != nil && p.state.Record.OwnerUID == p.obj.GetUID() && s.id == 0
	p.because = p.whyReplace(s.id)
	p.state.Pending = &Pending{OwnerUID: p.obj.GetUID(), Name: s.name, Replaces: s.id, Rotate: p.token()}
	body := p.want.Body
	p.state.Applied = &body
	p.intended = true // the write below is refused if this pass has seen an old version
	return p.remember(ctx)
}

func (p *pass[T, A, D]) create(ctx context.Context, s step) error {
	made, err := p.Kind.Create(ctx, p.api, p.obj, Want[D]{Name: s.name, Body: p.want.Body})
	if err != nil {
		p.foreign = p.foreign || p.intended && errors.Is(err, ErrConflict)
		return err
	}
	p.spells(&made, s.name)
	if isMarked(s.name) && !hasMark(made.Name, p.obj.GetUID()) {
		// Found again by its mark only, it would be lost with this pass.
		if err := p.Kind.Delete(ctx, p.api, p.obj, made.ID); err != nil && !errors.Is(err, ErrAbsent) {
			return err
		}
		return p.misspelt(s.name, made.Name)
	}
	p.things = append(p.things, made)
	p.made = made.ID
	return nil
}

// spells remembers a name that the server spells in its own way.
func (p *pass[T, A, D]) spells(t *Thing[D], asked string) {
	if p.Naming != Singleton && t.Name != asked {
		p.spelt = spelling{id: t.ID, asked: asked, got: t.Name}
	}
}

// misspelt refuses a name of which the server does not keep the part that tells
// whose the object is.
func (p *pass[T, A, D]) misspelt(want, got string) error {
	return outcome.Refused(synced, reasonInvalid,
		"the server stores the name %q as %q, which does not tell any more whose it is: choose a shorter name of letters and digits", want, got)
}

func (p *pass[T, A, D]) identify(ctx context.Context, id int64) error {
	p.state.Pending.ID = id
	if id == 0 {
		return nil // what was there is gone; nothing rests on it
	}
	return p.remember(ctx)
}

func (p *pass[T, A, D]) publish(ctx context.Context, id int64) error {
	t := p.thing(id)
	if err := p.Kind.Publish(ctx, p.api, p.obj, *t); err != nil {
		return err
	}
	t.KeyLost, t.Yield = false, nil
	return nil
}

func (p *pass[T, A, D]) update(ctx context.Context, s step) error {
	if s == p.updated {
		return p.unsettled() // it has said yes to this already
	}
	t := p.thing(s.id)
	want := Want[D]{Name: s.name, Body: p.want.Body}
	retiring := p.state.Pending != nil && p.state.Pending.Replaces == s.id
	diff := p.Kind.Compare(want.Body, t.Body)
	if retiring || diff.Replace {
		want.Body, diff = t.Body, Difference{} // only its name can change, or is to
	}
	fields := diff.Fields
	if t.Name != want.Name && p.Naming != Singleton {
		fields = append(fields, "name")
	}
	was := t.Name
	now, err := p.Kind.Update(ctx, p.api, p.obj, want, *t)
	if err != nil {
		return err
	}
	p.updated = s
	if retiring && !isMarked(now.Name) {
		return p.misspelt(want.Name, now.Name)
	}
	p.spells(&now, want.Name)
	*t = now
	if !retiring && !isMarked(was) {
		p.tellUpdated(&now, strings.Join(sortedFields(fields), ", "))
	}
	return nil
}

// tellUpdated tells a repair from a change that the spec asked for. Who made
// the difference, the server does not say.
func (p *pass[T, A, D]) tellUpdated(t *Thing[D], fields string) {
	switch r := p.state.Record; {
	case r != nil && r.Adopted && p.state.ObservedGeneration <= 0:
		p.warn(eventOverwritten, "%s: %s as somebody else had set it; now as the spec asks", p.called(t), fields)
		return
	case p.state.ObservedGeneration == p.obj.GetGeneration():
		p.warn(eventDriftCorrected, "%s: %s differed on the server from the spec; restored", p.called(t), fields)
		return
	}
	p.tell(eventUpdated, "%s: changed %s", p.called(t), fields)
}

// called is what an object is called in an Event. The only one of its team has
// a name that is a phrase.
func (p *pass[T, A, D]) called(t *Thing[D]) string {
	if p.Naming == Singleton {
		return p.Noun + " " + t.Name
	}
	return fmt.Sprintf("%s %q (%d)", p.Noun, t.Name, t.ID)
}

// settle records an object as ours. An object that it replaces is recorded as
// retiring by the same write, before anything is done to it.
func (p *pass[T, A, D]) settle(ctx context.Context, s step) error {
	t := p.thing(s.id)
	pending, before := p.state.Pending, p.state.Record
	takes := pending == nil && (before == nil || before.ID != t.ID)
	if takes || (p.Naming == Final && pending != nil && p.made != t.ID) {
		if yields, err := p.yields(ctx, t); err != nil || yields {
			return err
		}
	}
	p.state.Record = p.recordOf(t, s.adopted)
	p.state.Pending = nil
	p.acknowledge(pending, s.adopted)
	if pending != nil {
		p.tellMade(t, pending.Replaces)
		return p.recordReplaced(ctx, before, pending.Replaces)
	}
	body := t.Body
	p.state.Applied = &body
	if takes {
		return p.take(ctx, t, s.adopted)
	}
	return nil
}

func (p *pass[T, A, D]) recordOf(t *Thing[D], adopted bool) *Record {
	r := &Record{Place: p.place, ID: t.ID, CreatedAt: t.CreatedAt, OwnerUID: p.obj.GetUID(), Adopted: adopted}
	if p.Naming != Singleton {
		r.Name, r.AskedName = t.Name, p.askedName(t)
	}
	return r
}

// recordReplaced records what was held before as retiring, if it is still
// there and still that object.
func (p *pass[T, A, D]) recordReplaced(ctx context.Context, before *Record, id int64) error {
	old := p.thing(id)
	if old == nil || before == nil || before.ID != old.ID || before.CreatedAt != old.CreatedAt {
		return nil
	}
	p.state.Retiring = append(p.state.Retiring, Retired{ID: old.ID, CreatedAt: old.CreatedAt, DeleteAfter: p.endOfGrace()})
	return p.remember(ctx)
}

// yields looks past the cache, which may not have seen what another resource
// has recorded, before an object is taken that this pass has not made. If
// another one holds it, or has begun to make one of that name, the right is
// not on our side; an intent of ours is then given up.
func (p *pass[T, A, D]) yields(ctx context.Context, t *Thing[D]) (bool, error) {
	rival, err := p.rival(ctx, t)
	switch {
	case err != nil || rival == nil:
		return false, err
	case p.state.Pending == nil:
		return true, p.refuse(ctx, step{id: t.ID, refusal: heldByOther})
	case rival.holds || rival.elder:
		p.forget(step{do: forget})
		return true, nil
	default:
		// It either made the object and records it soon, or gives up.
		return true, outcome.Waiting(synced, reasonNameConflict,
			"%s %q is also wanted by %s: choose another name, or delete that one", p.Noun, p.want.Name, rival.name)
	}
}

func (p *pass[T, A, D]) tellMade(t *Thing[D], replaced int64) {
	switch {
	case replaced != 0 && p.Naming == Provisional:
		p.warn(eventRotated, "%s took the place of %d%s; the old one works until %s",
			p.called(t), replaced, p.because, p.endOfGrace().Format(time.RFC3339))
	case replaced != 0:
		p.warn(eventRecreated, "%s %q was made anew (%d): the server cannot change it in place", p.Noun, t.Name, t.ID)
	case p.lost:
		p.warn(eventRecreated, "%s %q was gone from the server and was made again (%d)", p.Noun, t.Name, t.ID)
	default:
		p.tell(eventCreated, "%s", p.called(t))
	}
}

func (p *pass[T, A, D]) delete(ctx context.Context, s step) error {
	t := p.thing(s.id)
	err := p.Kind.Delete(ctx, p.api, p.obj, s.id)
	if r, stays := asRelease(err); stays {
		p.left, err = r, nil
	}
	if err != nil && !errors.Is(err, ErrAbsent) {
		return err
	}
	if s.do == remove && p.left == nil {
		p.tell(eventDeleted, "%s", p.called(t))
	}
	p.things = slices.DeleteFunc(p.things, func(t Thing[D]) bool { return t.ID == s.id })
	p.forgetObject(s.id)
	return nil
}

func (p *pass[T, A, D]) forget(s step) {
	switch s.do {
	case forget:
		p.state.Pending = nil
		p.recallApplied()
	case unrecord:
		p.state.Record = nil
	case drop:
		p.forgetObject(s.id)
	}
}

// recallApplied takes back what an intent said about the body: what was sent
// with it has not come to be, and the object that we hold is as it was.
func (p *pass[T, A, D]) recallApplied() {
	p.state.Applied = nil
	if r := p.state.Record; r != nil {
		if t := p.thing(r.ID); t != nil {
			body := t.Body
			p.state.Applied = &body
		}
	}
}

// forgetObject takes an object that is gone out of what is remembered.
func (p *pass[T, A, D]) forgetObject(id int64) {
	if r := p.state.Record; r != nil && r.ID == id && p.deleting {
		p.state.Record = nil
	}
	if p.state.Pending != nil && p.state.Pending.ID == id {
		p.state.Pending.ID = 0
	}
	p.state.Retiring = slices.DeleteFunc(p.state.Retiring, func(r Retired) bool { return r.ID == id })
}

func (p *pass[T, A, D]) thing(id int64) *Thing[D] {
	for i := range p.things {
		if id != 0 && p.things[i].ID == id {
			return &p.things[i]
		}
	}
	return nil
}

func (p *pass[T, A, D]) tell(reason, format string, args ...any) {
	p.emit(status.Event{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (p *pass[T, A, D]) warn(reason, format string, args ...any) {
	p.emit(status.Event{Warning: true, Reason: reason, Message: fmt.Sprintf(format, args...)})
}
