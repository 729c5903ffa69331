package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// FieldManager is the name under which every apply is made. Another name would orphan all fields that are owned under
// this one, so it never changes.
const FieldManager = "terdut-operator"

// Options are what an Engine works with. Client, Live and Scheme are required.
type Options struct {
	// Client reads from the cache, applies and deletes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Converter knows the schemas of the kinds that are applied. The default knows those of client-go. A kind that it does
	// not know is compared by a deduced schema, in which every list outside metadata is one atomic field.
	Converter managedfields.TypeConverter
	// Scheme knows the owner's kind. Children whose kind it knows are read as that type, all others as unstructured.
	Scheme *runtime.Scheme
	// RESTMapper, if given, lets a pass fail on a kind that the cluster does not serve or that has the wrong scope before
	// anything is written.
	RESTMapper meta.RESTMapper
}

// Engine applies children. Make it with New.
type Engine struct {
	client  client.Client
	live    client.Reader
	scheme  *runtime.Scheme
	mapper  meta.RESTMapper
	schemas *schemas
}

// New returns an Engine.
func New(options Options) *Engine {
	converter := options.Converter
	if converter == nil {
		converter = applyconfigurations.NewTypeConverter(options.Scheme)
	}
	return &Engine{
		client:  options.Client,
		live:    options.Live,
		scheme:  options.Scheme,
		mapper:  options.RESTMapper,
		schemas: newSchemas(converter),
	}
}

// Converge makes the children of owner what they should be and deletes what is recorded but no longer rendered.
//
// previous are the records of the owner's status; what belongs there afterwards is in Report.Records, after an error as
// well. children must have been built for this call, owner reference included (see OwnerReference), and are not changed.
// prunable are the kinds that may be deleted; records of other kinds are kept for ever.
//
// remember is called with the previous records and those of new children, without UID, before the first object is
// created, and only if there is a new one. It must store them; an error of it ends the pass.
//
// A child that is [Refused] or [Immutable] does not hold up the others, but nothing is pruned then; these errors are
// joined. Any other error ends the pass. A child that is being deleted is left alone until it is gone; it is in
// Report.Live with its deletion timestamp. Nothing is done for an owner that is being deleted: [ErrTerminating].
func (e *Engine) Converge(ctx context.Context, owner client.Object, previous []Record, children []runtime.ApplyConfiguration,
	prunable []schema.GroupVersionKind, remember func(context.Context, []Record) error,
) (Report, error) {
	p, err := e.begin(owner, previous, children)
	if err != nil {
		return Report{Records: slices.Clone(previous)}, err
	}
	if err = p.remember(ctx, remember); err != nil {
		return p.result(), err
	}
	var verdicts []error
	for _, want := range p.intents {
		if err = p.converge(ctx, want); err == nil {
			continue
		}
		verdicts = append(verdicts, err)
		if !isVerdict(err) {
			return p.result(), errors.Join(verdicts...)
		}
	}
	if len(verdicts) > 0 {
		return p.result(), errors.Join(verdicts...)
	}
	err = p.prune(ctx, prunable)
	return p.result(), err
}

// OwnerReference returns the reference that makes owner the controller of a child. The garbage collector deletes the
// child with it. owner must have been read from the API server: an owner without UID is an error.
func (e *Engine) OwnerReference(owner client.Object) (*metav1ac.OwnerReferenceApplyConfiguration, error) {
	gvk, err := apiutil.GVKForObject(owner, e.scheme)
	if err != nil {
		return nil, fmt.Errorf("owner reference to %q: %w", client.ObjectKeyFromObject(owner), err)
	}
	if owner.GetUID() == "" {
		return nil, fmt.Errorf("owner reference to %s %q: it has no UID: read it from the API server first",
			gvk.Kind, client.ObjectKeyFromObject(owner))
	}
	return metav1ac.OwnerReference().
		WithAPIVersion(gvk.GroupVersion().String()).
		WithKind(gvk.Kind).
		WithName(owner.GetName()).
		WithUID(owner.GetUID()).
		WithController(true).
		WithBlockOwnerDeletion(true), nil
}

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
