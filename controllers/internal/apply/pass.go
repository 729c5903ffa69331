package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// pass is the state of one Converge.
type pass struct {
	*Engine
	owner   client.Object
	intents []*intent
	// records are those of the status, brought up to date as the pass goes on.
	records map[recordKey]Record
	// store keeps the records in the status. It may be nil.
	store  func(context.Context, []Record) error
	report Report
	// proved is true once the owner is known to be the latest.
	proved bool
}

// begin checks everything that can be checked without a request.
func (e *Engine) begin(owner client.Object, previous []Record, children []runtime.ApplyConfiguration) (*pass, error) {
	if owner.GetDeletionTimestamp() != nil {
		return nil, fmt.Errorf("children of %q: %w", client.ObjectKeyFromObject(owner), ErrTerminating)
	}
	p := &pass{
		Engine:  e,
		owner:   owner,
		intents: make([]*intent, 0, len(children)),
		records: make(map[recordKey]Record, len(previous)+len(children)),
		report:  Report{Live: make(map[Key]client.Object, len(children))},
	}
	for _, record := range previous {
		p.records[record.key()] = record
	}
	seen := make(map[recordKey]bool, len(children))
	for _, child := range children {
		want, err := e.newIntent(owner, child)
		if err != nil {
			return nil, err
		}
		if seen[want.record()] {
			return nil, fmt.Errorf("intent of %s: it is rendered twice", want.key)
		}
		seen[want.record()] = true
		p.intents = append(p.intents, want)
	}
	return p, nil
}

// remember has the new children recorded before any of them exists: what is created and then forgotten is never pruned.
func (p *pass) remember(ctx context.Context) error {
	isNew := false
	for _, want := range p.intents {
		if _, found := p.records[want.record()]; !found {
			p.records[want.record()] = Record{Kind: want.key.Kind, Name: want.key.Name}
			isNew = true
		}
	}
	if !isNew {
		return nil
	}
	return p.keepRecords(ctx)
}

func (p *pass) keepRecords(ctx context.Context) error {
	if p.store == nil {
		return nil
	}
	if err := p.store(ctx, p.sorted()); err != nil {
		return fmt.Errorf("record the children of %q before they are made: %w", client.ObjectKeyFromObject(p.owner), err)
	}
	return nil
}

// converge makes one child what it should be.
func (p *pass) converge(ctx context.Context, want *intent) error {
	cached, err := p.get(ctx, p.client, want.key)
	if err != nil {
		return err
	}
	if cached != nil && p.ours(cached, want) && cached.GetDeletionTimestamp() == nil && !p.isAnother(want, cached) {
		settled, judgeErr := p.settled(want, cached)
		if judgeErr != nil || settled {
			return judgeErr
		}
	}
	live, err := p.get(ctx, p.Engine.live, want.key)
	switch {
	case err != nil:
		return err
	case live == nil:
		return p.create(ctx, want)
	case !p.ours(live, want):
		return &Refused{Key: want.key, Holder: holder(live)}
	case live.GetDeletionTimestamp() != nil:
		p.report.Live[want.key] = live
		return nil
	}
	return p.update(ctx, want, live)
}

// isAnother tells whether what the cache shows is not the object that was last applied: it is one of before, or somebody
// has made it again. Either way the cache does not tell how it is now.
func (p *pass) isAnother(want *intent, cached client.Object) bool {
	uid := p.records[want.record()].UID
	return uid != "" && uid != cached.GetUID()
}

// settled tells whether a child needs nothing, and notes it.
func (p *pass) settled(want *intent, cached client.Object) (bool, error) {
	verdict, err := p.judge(cached, want, p.isNew(want))
	if err != nil {
		return false, err
	}
	if !verdict.same && !p.memory.knowsNoOp(cached.GetUID(), cached.GetResourceVersion(), want.exact) {
		return false, nil
	}
	p.settle(want, cached, verdict.ceded)
	return true, nil
}

// create makes a child that a live read has not found.
func (p *pass) create(ctx context.Context, want *intent) error {
	if err := p.proveOwner(ctx); err != nil {
		return err
	}
	change := Change{Key: want.key, Action: Created}
	// A record without UID and with an intent is one of a child that was about to be made again.
	if old := p.records[want.record()]; old.UID != "" || old.Intent != "" {
		change.Action, change.Fields = Corrected, []FieldDrift{{Path: PathDeleted}}
		if old.UID != "" {
			// Otherwise, if the new UID got lost, the record would name an object that is gone, and the new one would never
			// be pruned.
			old.UID = ""
			p.records[want.record()] = old
			if err := p.keepRecords(ctx); err != nil {
				return err
			}
		}
	}
	made, err := p.applyAbsent(ctx, want)
	if err != nil {
		return err
	}
	p.settle(want, made, nil)
	p.report.Changes = append(p.report.Changes, change)
	return nil
}

// update applies to a child that was just read live and is ours.
func (p *pass) update(ctx context.Context, want *intent, live client.Object) error {
	if err := p.proveOwner(ctx); err != nil {
		return err
	}
	record := p.records[want.record()]
	live, reowned, err := p.reown(ctx, want, live, record.UID == live.GetUID() && record.Intent != "")
	if err != nil {
		return err
	}
	if reowned {
		p.report.Reowned = append(p.report.Reowned, want.key)
	}
	verdict, err := p.judge(live, want, p.isNew(want))
	if err != nil {
		return err
	}
	if verdict.same || p.memory.knowsNoOp(live.GetUID(), live.GetResourceVersion(), want.exact) {
		p.settle(want, live, verdict.ceded)
		return nil
	}
	if field, differs := immutable(verdict.difference, want); differs {
		return &Immutable{Key: want.key, Field: field}
	}
	change := p.change(want, verdict, live)
	if live, err = p.clearWay(ctx, verdict, live); err != nil {
		return err
	}
	done, err := p.applyOver(ctx, verdict.want, live, guard{uid: live.GetUID()})
	if err != nil {
		return err
	}
	done.ceded = append(verdict.ceded, done.ceded...)
	p.note(want, change, live, done)
	return nil
}

// note reports what an apply did to live.
func (p *pass) note(want *intent, change Change, live client.Object, done outcome) {
	changed := done.object.GetResourceVersion() != live.GetResourceVersion()
	if changed && change.Action == Corrected {
		p.memory.took(live.GetUID(), change.Fields)
	}
	p.settle(want, done.object, done.ceded)
	if !changed {
		p.memory.changedNothing(live.GetUID(), live.GetResourceVersion(), want.exact())
		p.report.NoOps = append(p.report.NoOps, want.key)
		return
	}
	change.Forced = done.forced
	p.report.Changes = append(p.report.Changes, change)
}

// change says what an apply is about to do.
func (p *pass) change(want *intent, verdict judgement, live client.Object) Change {
	switch {
	case !p.drifted(want, verdict.difference):
		return Change{Key: want.key, Action: Updated}
	case p.memory.wereCeded(live.GetUID(), verdict.drift):
		return Change{Key: want.key, Action: Reclaimed, Fields: verdict.drift}
	}
	return Change{Key: want.key, Action: Corrected, Fields: verdict.drift}
}

// isNew tells whether the intent is another one than that of the last apply.
func (p *pass) isNew(want *intent) bool { return p.records[want.record()].Intent != want.hash }

// drifted tells drift from a change of the intent. The hash of a Secret does not tell whether a value is wanted to change;
// there, drift is that we lost a field: who writes one takes it from us.
func (p *pass) drifted(want *intent, diff difference) bool {
	if p.isNew(want) {
		return false
	}
	return !isSecret(want.key.gvk()) || slices.ContainsFunc(diff.paths, func(path fieldpath.Path) bool { return !has(diff.owned, path) })
}

// settle notes a child that is what it should be, save for the fields that are left to others.
func (p *pass) settle(want *intent, live client.Object, ceded []FieldDrift) {
	p.report.Live[want.key] = live
	p.records[want.record()] = Record{Kind: want.key.Kind, Name: want.key.Name, UID: live.GetUID(), Intent: want.hash}
	p.memory.cede(live.GetUID(), ceded)
	p.report.Ceded = append(p.report.Ceded, fieldsOf(want.key, ceded)...)
	p.report.Contested = append(p.report.Contested, fieldsOf(want.key, p.memory.contested(live.GetUID()))...)
}

func fieldsOf(key Key, drifts []FieldDrift) []Field {
	fields := make([]Field, 0, len(drifts))
	for _, drift := range drifts {
		fields = append(fields, Field{Key: key, FieldDrift: drift})
	}
	return fields
}

// ours tells whether an object that exists may be written to.
func (p *pass) ours(live client.Object, want *intent) bool {
	if controller := metav1.GetControllerOfNoCopy(live); controller != nil {
		return controller.UID == p.owner.GetUID()
	}
	uid := p.records[want.record()].UID
	return uid != "" && uid == live.GetUID()
}

func (p *pass) result() Report {
	p.report.Records = p.sorted()
	count(p.report.Changes)
	return p.report
}

// sorted returns the records in an order that does not depend on that of the children: the status must not change with it.
func (p *pass) sorted() []Record {
	records := make([]Record, 0, len(p.records))
	for _, record := range p.records {
		records = append(records, record)
	}
	slices.SortFunc(records, func(a, b Record) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return records
}
