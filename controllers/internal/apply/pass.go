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
	report  Report
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
func (p *pass) remember(ctx context.Context, store func(context.Context, []Record) error) error {
	isNew := false
	for _, want := range p.intents {
		if _, found := p.records[want.record()]; !found {
			p.records[want.record()] = Record{Kind: want.key.Kind, Name: want.key.Name}
			isNew = true
		}
	}
	if !isNew || store == nil {
		return nil
	}
	if err := store(ctx, p.sorted()); err != nil {
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
	if cached != nil && p.ours(cached, want) && cached.GetDeletionTimestamp() == nil {
		diff, diffErr := p.compare(cached, want)
		if diffErr != nil {
			return diffErr
		}
		if diff.same {
			p.settle(want, cached)
			return nil
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

// create makes a child that a live read has not found.
func (p *pass) create(ctx context.Context, want *intent) error {
	change := Change{Key: want.key, Action: Created}
	if p.records[want.record()].UID != "" {
		change.Action, change.Fields = Corrected, []FieldDrift{{Path: PathDeleted}}
	}
	made, err := p.applyAbsent(ctx, want)
	if err != nil {
		return err
	}
	p.settle(want, made)
	p.report.Changes = append(p.report.Changes, change)
	return nil
}

// update applies to a child that was just read live and is ours.
func (p *pass) update(ctx context.Context, want *intent, live client.Object) error {
	diff, err := p.compare(live, want)
	if err != nil {
		return err
	}
	if diff.same {
		p.settle(want, live)
		return nil
	}
	if field, differs := immutable(diff.live, want); differs {
		return &Immutable{Key: want.key, Field: field}
	}
	change := Change{Key: want.key, Action: Updated}
	if p.drifted(want, diff) {
		change.Action, change.Fields = Corrected, attribute(diff, live.GetManagedFields())
	}
	applied, forced, err := p.applyOver(ctx, want, live, guard{uid: live.GetUID()})
	if err != nil {
		return err
	}
	p.settle(want, applied)
	if applied.GetResourceVersion() == live.GetResourceVersion() {
		p.report.NoOps = append(p.report.NoOps, want.key)
		return nil
	}
	change.Forced = forced
	p.report.Changes = append(p.report.Changes, change)
	return nil
}

// drifted tells drift from a change of the intent. The hash of a Secret does not tell whether a value is wanted to change;
// there, drift is that we lost a field: who writes one takes it from us.
func (p *pass) drifted(want *intent, diff difference) bool {
	if p.records[want.record()].Intent != want.hash {
		return false
	}
	return !isSecret(want.key.gvk()) || slices.ContainsFunc(diff.paths, func(path fieldpath.Path) bool { return !has(diff.owned, path) })
}

// settle notes a child that is what it should be.
func (p *pass) settle(want *intent, live client.Object) {
	p.report.Live[want.key] = live
	p.records[want.record()] = Record{Kind: want.key.Kind, Name: want.key.Name, UID: live.GetUID(), Intent: want.hash}
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
