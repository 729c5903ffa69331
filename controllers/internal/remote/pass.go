package remote

import (
	"context"
	"errors"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// maxSteps bounds a pass. The longest that makes sense, a replacement that
// first clears up what two others have left, takes fewer.
const maxSteps = 24

// maxConflicts bounds how often a pass looks again because somebody was faster.
const maxConflicts = 2

// pass is one run over one object: what has been read, and what is remembered.
type pass[T client.Object, A, D any] struct {
	*visit[T, A, D]
	place    Place
	api      A
	state    State[D]
	deleting bool

	// as is how fresh want and things are.
	as     Freshness
	want   Want[D]
	things []Thing[D]
	made   int64
	// stale: the intent of a Final object has sent what is not wanted any more.
	stale bool
	// refused: the server calls the wanted name taken and shows no object of
	// that name, even on a second look.
	refused bool
	// spelt is the last name that was given and that the server spells
	// differently.
	spelt spelling
	// adoption says whether an object that was there before may be taken over.
	adoption Adoption
	// updated is the last change that the server has accepted.
	updated step
	// intended is true when this very pass has recorded the intent, and foreign
	// when the server has called the name taken then: nothing that was asked for
	// earlier can bear it.
	intended, foreign bool
	// lost is true when an object that we had recorded is gone.
	lost bool
	// because is why an object is replaced, for the Event.
	because string
	// left is why something stays on the server after all.
	left *Release
}

// run decides and acts until there is nothing left to do.
func (p *pass[T, A, D]) run(ctx context.Context, decide func(facts) step) error {
	// What a step has learnt is kept, whatever ends the pass.
	defer func() { p.Kind.Store(p.obj, p.state) }()
	if settled, err := p.glance(ctx, decide); settled || err != nil {
		return err
	}
	if err := p.list(ctx, Fresh); err != nil {
		return err
	}
	return p.act(ctx, decide)
}

// act decides on a fresh list and acts.
func (p *pass[T, A, D]) act(ctx context.Context, decide func(facts) step) error {
	conflicts, last := 0, step{}
	for range maxSteps {
		f, err := p.facts(ctx)
		if err != nil {
			return err
		}
		next := decide(f)
		p.consider(next)
		switch next.do {
		case done:
			p.freshen()
			return nil
		case orphan:
			return p.orphan(ctx)
		case release:
			return p.end(ctx)
		}
		err = p.do(ctx, next)
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrAbsent) || conflicts == maxConflicts {
			return err
		}
		// Somebody was faster: what counts is a new list. A name that is taken
		// and stands on none of two lists is taken all the same. Conflicts of
		// two different steps are no second look.
		conflicts++
		p.refused, last = errors.Is(err, ErrConflict) && next == last, next
		if err = p.list(ctx, Fresh); err != nil {
			return err
		}
	}
	return p.unsettled()
}

// unsettled ends a pass that would go in circles.
func (p *pass[T, A, D]) unsettled() error {
	return outcome.Unknown(synced, reasonUnexpectedAnswer,
		"%s %q does not settle: the server shows something else than it was told", p.Noun, p.want.Name)
}

// glance looks at the snapshot that everybody shares, and tells whether there
// is nothing to do. Whatever else the snapshot suggests is decided again on a
// fresh list. An object that was not applied yet, or that has begun something,
// is not worth a glance.
func (p *pass[T, A, D]) glance(ctx context.Context, decide func(facts) step) (bool, error) {
	r := p.state.Record
	if p.deleting || p.asked() != p.state.Reconciled || r == nil || r.OwnerUID != p.obj.GetUID() || p.state.Pending != nil ||
		p.state.ObservedGeneration != p.obj.GetGeneration() {
		return false, nil
	}
	if err := p.list(ctx, Snapshot); err != nil {
		return false, err
	}
	f, err := p.facts(ctx)
	// What cannot be computed from a snapshot may be from what is there now.
	return err == nil && decide(f).do == done, nil
}

func (p *pass[T, A, D]) list(ctx context.Context, as Freshness) error {
	p.as = as
	things, err := p.Kind.List(ctx, p.api, p.obj, as)
	if p.deleting && errors.Is(err, ErrAbsent) {
		things, err = nil, nil // the parent is gone, and what was on it with it
	}
	if err != nil {
		return err
	}
	p.things = things
	return nil
}

// facts gathers what the decision rests on. Only objects that can matter are
// asked for a holder.
func (p *pass[T, A, D]) facts(ctx context.Context) (facts, error) {
	if err := p.desire(ctx); err != nil {
		return facts{}, err
	}
	p.adoption = p.MayAdopt(p.obj, p.api)
	f := facts{
		naming: p.Naming, uid: p.obj.GetUID(), place: p.place, now: p.Now(),
		record: p.state.Record, pending: p.state.Pending, retiring: p.state.Retiring,
		want: p.want.Name, made: p.made, mayAdopt: p.adoption.Allowed, spelt: p.spelt, conflicted: p.isConflicted(),
		stale: p.stale, refused: p.refused, foreign: p.foreign, orphans: p.deleting && p.Orphans(p.obj),
		unchanged: p.state.ObservedGeneration == p.obj.GetGeneration(), rotate: p.rotates(),
	}
	for _, t := range p.things {
		s := seen{ID: t.ID, Name: t.Name, CreatedAt: t.CreatedAt, KeyLost: t.KeyLost, KeyHeld: t.KeyHeld, AtHand: t.Yield != nil, Empty: t.Empty}
		if p.matters(t) {
			diff := p.compare(t)
			s.Differs, s.Replace = !diff.None(), diff.Replace
			holder, err := p.holder(ctx, t.ID, t.CreatedAt)
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
	elder, err := p.elder(ctx, f.namesake(f.want, 0, 0) != nil)
	f.elder = elder
	return f, err
}

// desire computes what should be there. An object that cannot be renamed is
// first finished as it was begun: what was sent decides whether it is ours.
func (p *pass[T, A, D]) desire(ctx context.Context) error {
	var today Want[D]
	var err error
	if !p.deleting {
		if today, err = p.Kind.Desired(ctx, p.api, p.obj, p.as); err != nil {
			return err
		}
	}
	p.want, p.stale = today, false
	if p.Naming == Final && p.state.Pending != nil && p.state.Applied != nil {
		p.want = Want[D]{Name: p.state.Pending.Name, Body: *p.state.Applied}
		p.stale = today.Name != p.want.Name || !p.Kind.Compare(today.Body, p.want.Body).None()
	}
	return nil
}

func (p *pass[T, A, D]) matters(t Thing[D]) bool {
	if p.Naming == Singleton || t.KeyHeld || alike(t.Name, p.want.Name) || hasMark(t.Name, p.obj.GetUID()) {
		return true
	}
	s := &p.state
	if s.Record != nil && s.Record.ID == t.ID {
		return true
	}
	if s.Pending != nil && (s.Pending.ID == t.ID || alike(s.Pending.Name, t.Name) || s.Pending.Replaces == t.ID) {
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
