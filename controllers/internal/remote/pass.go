package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

// maxSteps bounds a pass. The longest that makes sense, a replacement that
// first clears up what two others have left, takes fewer.
const maxSteps = 24

// pass is one run over one object: what has been read, and what is remembered.
type pass[T client.Object, A, D any] struct {
	*visit[T, A, D]
	place    Place
	api      A
	state    State[D]
	deleting bool

	want   Want[D]
	things []Thing[D]
	made   int64
	// lost is true when an object that we had recorded is gone.
	lost bool
}

// run decides and acts until there is nothing left to do.
func (p *pass[T, A, D]) run(ctx context.Context, decide func(facts) step) error {
	// What a step has learnt is kept, whatever ends the pass.
	defer func() { p.Kind.Store(p.obj, p.state) }()
	if err := p.list(ctx); err != nil {
		return err
	}
	conflicts := 0
	for range maxSteps {
		f, err := p.facts(ctx)
		if err != nil {
			return err
		}
		next := decide(f)
		switch next.do {
		case done:
			return nil
		case release:
			return p.letGo(ctx)
		}
		switch err := p.do(ctx, next); {
		case err == nil:
		case errors.Is(err, ErrConflict) && conflicts == 0, errors.Is(err, ErrAbsent) && conflicts == 0:
			// Somebody was faster: what counts is a new list.
			conflicts++
			if err := p.list(ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return outcome.Unknown(synced, "UnexpectedAnswer",
		"%s %q does not settle: the server shows something else than it was told", p.Noun, p.want.Name)
}

func (p *pass[T, A, D]) list(ctx context.Context) error {
	things, err := p.Kind.List(ctx, p.api, p.obj)
	if p.deleting && errors.Is(err, ErrAbsent) {
		things, err = nil, nil // the parent is gone, and what was on it with it
	}
	p.things = things
	return err
}

// facts gathers what the decision rests on. Only objects that can matter are
// asked for a holder.
func (p *pass[T, A, D]) facts(ctx context.Context) (facts, error) {
	if err := p.desire(ctx); err != nil {
		return facts{}, err
	}
	f := facts{
		naming: p.Naming, uid: p.obj.GetUID(), place: p.place, now: p.Now(),
		record: p.state.Record, pending: p.state.Pending, retiring: p.state.Retiring,
		want: p.want.Name, made: p.made, mayAdopt: p.MayAdopt(p.obj, p.place),
	}
	for _, t := range p.things {
		s := seen{ID: t.ID, Name: t.Name, CreatedAt: t.CreatedAt, KeyLost: t.KeyLost, Empty: t.Empty}
		if p.matters(t) {
			diff := p.compare(t)
			s.Differs, s.Replace = !diff.None(), diff.Replace
			holder, err := p.holder(ctx, t.ID)
			if err != nil {
				return facts{}, err
			}
			s.Holder = holder
		}
		f.objects = append(f.objects, s)
	}
	if p.deleting || f.record != nil || f.pending != nil {
		return f, nil
	}
	elder, err := p.elder(ctx)
	f.elder = elder
	return f, err
}

// desire computes what should be there. An object that cannot be renamed is
// first finished as it was begun: what was sent decides whether it is ours.
func (p *pass[T, A, D]) desire(ctx context.Context) error {
	if p.Naming == Final && p.state.Pending != nil && p.state.Applied != nil {
		p.want = Want[D]{Name: p.state.Pending.Name, Body: *p.state.Applied}
		return nil
	}
	if p.deleting {
		return nil
	}
	want, err := p.Kind.Desired(ctx, p.api, p.obj)
	p.want = want
	return err
}

func (p *pass[T, A, D]) matters(t Thing[D]) bool {
	if p.Naming == Singleton || t.Name == p.want.Name {
		return true
	}
	s := &p.state
	if s.Record != nil && s.Record.ID == t.ID {
		return true
	}
	if s.Pending != nil && (s.Pending.ID == t.ID || s.Pending.Name == t.Name || s.Pending.Replaces == t.ID) {
		return true
	}
	return slices.ContainsFunc(s.Retiring, func(r Retired) bool { return r.ID == t.ID })
}

// compare tells what separates an object from the wanted one. The body of one
// that cannot be changed is compared as it was sent: the server may spell it
// differently, and making it again would reset it.
func (p *pass[T, A, D]) compare(t Thing[D]) Difference {
	if p.deleting && p.Naming != Final {
		return Difference{}
	}
	recorded := p.state.Record != nil && p.state.Record.ID == t.ID
	if p.Naming == Final && p.state.Pending == nil && p.state.Applied != nil && recorded {
		return p.Kind.Compare(p.want.Body, *p.state.Applied)
	}
	return p.Kind.Compare(p.want.Body, t.Body)
}

// do carries out one step.
func (p *pass[T, A, D]) do(ctx context.Context, s step) error {
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
	p.lost = p.state.Record != nil && s.id == 0
	p.state.Pending = &Pending{Name: s.name, Replaces: s.id}
	body := p.want.Body
	p.state.Applied = &body
	return p.remember(ctx)
}

func (p *pass[T, A, D]) create(ctx context.Context, s step) error {
	made, err := p.Kind.Create(ctx, p.api, p.obj, Want[D]{Name: s.name, Body: p.want.Body})
	if err != nil {
		return err
	}
	p.things = append(p.things, made)
	p.made = made.ID
	return nil
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
	t := p.thing(s.id)
	want := Want[D]{Name: s.name, Body: p.want.Body}
	retiring := p.state.Pending != nil && p.state.Pending.Replaces == s.id
	if retiring {
		want.Body = t.Body // only its name makes way
	}
	fields := p.Kind.Compare(want.Body, t.Body).Fields
	if t.Name != want.Name && p.Naming != Singleton {
		fields = append(fields, "name")
	}
	was := t.Name
	now, err := p.Kind.Update(ctx, p.api, p.obj, want, *t)
	if err != nil {
		return err
	}
	if now.Name != want.Name && p.Naming != Singleton {
		return outcome.Refused(synced, "Invalid",
			"the server stores the name %q as %q: write it that way in the spec", want.Name, now.Name)
	}
	*t = now
	if !retiring && !isMarked(was) {
		p.tell(p.corrected(), "%s %q (%d): %s", p.Noun, now.Name, now.ID, strings.Join(sortedFields(fields), ", "))
	}
	return nil
}

// corrected tells a repair from a change that the spec asked for.
func (p *pass[T, A, D]) corrected() string {
	if p.state.ObservedGeneration == p.obj.GetGeneration() {
		return eventDriftCorrected
	}
	return eventUpdated
}

// settle records an object as ours. An object that it replaces is recorded as
// retiring by the same write, before anything is done to it.
func (p *pass[T, A, D]) settle(ctx context.Context, s step) error {
	t := p.thing(s.id)
	pending := p.state.Pending
	if s.adopted {
		// Adoption is rare, and a cache may not have seen the other's record.
		if holder, err := p.liveHolder(ctx, t.ID); err != nil || holder != "" {
			return errors.Join(err, p.refuse(ctx, step{id: t.ID, refusal: heldByOther}))
		}
	}
	p.state.Record = &Record{Place: p.place, ID: t.ID, CreatedAt: t.CreatedAt, OwnerUID: p.obj.GetUID(), Adopted: s.adopted}
	p.state.Pending = nil
	if pending == nil {
		body := t.Body
		p.state.Applied = &body
		if s.adopted {
			p.tell(eventAdopted, "%s %q (%d) was there already and is now held by this resource", p.Noun, p.want.Name, t.ID)
		}
		return nil
	}
	p.tellMade(t, pending.Replaces != 0)
	old := p.thing(pending.Replaces)
	if old == nil {
		return nil
	}
	p.state.Retiring = append(p.state.Retiring,
		// Whole seconds, as a status keeps them.
		Retired{ID: old.ID, CreatedAt: old.CreatedAt, DeleteAfter: p.Now().Add(p.Grace).UTC().Truncate(time.Second)})
	return p.remember(ctx)
}

func (p *pass[T, A, D]) tellMade(t *Thing[D], replaced bool) {
	switch {
	case replaced:
		p.warn(eventRecreated, "%s %q was made anew (%d): the server cannot change it in place", p.Noun, t.Name, t.ID)
	case p.lost:
		p.warn(eventRecreated, "%s %q was gone from the server and was made again (%d)", p.Noun, t.Name, t.ID)
	default:
		p.tell(eventCreated, "%s %q (%d)", p.Noun, t.Name, t.ID)
	}
}

func (p *pass[T, A, D]) delete(ctx context.Context, s step) error {
	t := p.thing(s.id)
	if err := p.Kind.Delete(ctx, p.api, p.obj, s.id); err != nil && !errors.Is(err, ErrAbsent) {
		return err
	}
	if s.do == remove {
		p.tell(eventDeleted, "%s %q (%d)", p.Noun, t.Name, t.ID)
	}
	p.things = slices.DeleteFunc(p.things, func(t Thing[D]) bool { return t.ID == s.id })
	p.forgetObject(s.id)
	return nil
}

func (p *pass[T, A, D]) forget(s step) {
	switch s.do {
	case forget:
		p.state.Pending = nil
	case unrecord:
		p.state.Record = nil
	case drop:
		p.forgetObject(s.id)
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
	status.Emit(p.Recorder, p.obj, status.Event{Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (p *pass[T, A, D]) warn(reason, format string, args ...any) {
	status.Emit(p.Recorder, p.obj, status.Event{Warning: true, Reason: reason, Message: fmt.Sprintf(format, args...)})
}
