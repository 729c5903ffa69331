package remote

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// consider keeps in the status what an object would take over if somebody gave
// leave, and nothing once that is past.
func (p *pass[T, A, D]) consider(next step) {
	p.state.Candidate = nil
	if next.do == refuse && next.refusal == noLeave && p.adoption.Askable {
		p.state.Candidate = &Candidate{ID: next.id, Name: p.want.Name}
	}
}

// isConflicted tells whether the last pass over this generation has ended
// because the wanted name could not be had.
func (p *pass[T, A, D]) isConflicted() bool {
	c := meta.FindStatusCondition(p.state.Conditions, synced)
	return c != nil && c.Reason == reasonNameConflict && c.ObservedGeneration == p.obj.GetGeneration()
}

// take makes an object that was there before ours: the record is written before
// anything is done to the object, and then the API server is asked who else has
// one. Of two that take the same object at the same time at least one sees the
// other, and gives it up.
func (p *pass[T, A, D]) take(ctx context.Context, t *Thing[D], adopted bool) error {
	if err := p.remember(ctx); err != nil {
		return err
	}
	other, err := p.rival(ctx, t)
	if err != nil {
		return err
	}
	if other != nil && other.holds {
		p.state.Record, p.state.Applied = nil, nil
		if err := p.remember(ctx); err != nil {
			return err
		}
		return p.refuse(ctx, step{id: t.ID, refusal: heldByOther})
	}
	if adopted {
		p.tell(eventAdopted, "%s was there already and is now held by this resource", p.called(t))
	}
	return nil
}

// isClaimedTwice tells whether another resource has recorded what an object has
// recorded. Then neither may touch it.
func (v *visit[T, A, D]) isClaimedTwice(ctx context.Context, r *Record) (bool, error) {
	if r == nil {
		return false, nil
	}
	other, err := v.heldBy(ctx, r.Place, r.ID, r.CreatedAt)
	return other != nil, err
}

// heldBy is another resource that has recorded the object of that ID and
// creation time; nil when there is none.
func (v *visit[T, A, D]) heldBy(ctx context.Context, place Place, id int64, createdAt string) (client.Object, error) {
	others, err := v.listObjects(ctx, v.Client, client.MatchingFields{HolderIndex: HolderKey(place, id)})
	if err != nil {
		return nil, err
	}
	for _, o := range others {
		if v.isRecordOf(o, createdAt) {
			return o, nil
		}
	}
	return nil, nil
}

// isRecordOf tells whether what another resource has recorded was made at that
// time: an ID that is used again does not make its former holder hold anything.
func (l *Loop[T, A, D]) isRecordOf(o T, createdAt string) bool {
	r := l.Kind.Load(o).Record
	return r != nil && (&seen{CreatedAt: createdAt}).is(r.CreatedAt)
}

// waits ends a pass that wants what another resource holds or wants.
func (p *pass[T, A, D]) waits(holder string) error {
	if p.Naming == Singleton {
		return outcome.Waiting(synced, reasonWaitingForOne,
			"the %s of this team is held by %s: delete that one, or this one", p.Noun, orOlder(holder))
	}
	return outcome.Refused(synced, reasonNameConflict,
		"%s %q is held by %s: choose another name, or delete that one", p.Noun, p.want.Name, orOlder(holder))
}
