package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// FieldManager is the name under which every apply is made. Another name would orphan all fields that are owned under
// this one, so it never changes.
const FieldManager = "terdut-operator"

// Options are what an Engine works with. Client, Live and Scheme are required.
type Options struct {
	// Client reads from the cache, applies and deletes. Unstructured children cost a request in every pass unless its
	// option Cache.Unstructured is set.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Converter knows the schemas of the kinds that are applied. The default knows those of client-go. A kind that it does
	// not know is compared by a deduced schema.
	Converter managedfields.TypeConverter
	// Scheme knows the owner's kind. Children whose kind it knows are read as that type, all others as unstructured.
	Scheme *runtime.Scheme
	// RESTMapper, if given, lets a pass fail on a kind that the cluster does not serve or that has the wrong scope before
	// anything is written.
	RESTMapper meta.RESTMapper
	// Yieldable are the fields that are left to whoever else sets them, by kind. All others are taken back. nil means
	// DefaultYieldable, and an empty map none.
	Yieldable map[schema.GroupKind][]Pattern
	// Resync is the time between two looks at a settled owner: that is how often a contested field is repaired, and how long
	// it is remembered that an apply changes nothing. The default is 10 minutes.
	Resync time.Duration
	// ProveOwner has the owner read live before the first child in a pass is changed, and the pass end with [LookAgain] if
	// the given one is not of that generation: a cache that lags would have what the spec asked for once put back.
	ProveOwner bool
	// Now is the clock. The default is time.Now.
	Now func() time.Time
}

// defaultResync is the default of Options.Resync.
const defaultResync = 10 * time.Minute

// Engine applies children. Make it with New.
type Engine struct {
	client  client.Client
	live    client.Reader
	scheme  *runtime.Scheme
	mapper  meta.RESTMapper
	schemas *schemas
	// yieldable and memory are described with Options.
	yieldable map[schema.GroupKind][]Pattern
	memory    *memory
	proves    bool
	now       func() time.Time
}

// New returns an Engine.
func New(options Options) *Engine {
	converter := options.Converter
	if converter == nil {
		converter = applyconfigurations.NewTypeConverter(options.Scheme)
	}
	if options.Yieldable == nil {
		options.Yieldable = DefaultYieldable()
	}
	if options.Resync <= 0 {
		options.Resync = defaultResync
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Engine{
		client:    options.Client,
		live:      options.Live,
		scheme:    options.Scheme,
		mapper:    options.RESTMapper,
		schemas:   newSchemas(converter),
		yieldable: options.Yieldable,
		memory:    newMemory(options.Now, options.Resync),
		proves:    options.ProveOwner,
		now:       options.Now,
	}
}

// Converge makes the children of owner what they should be and deletes what is recorded but no longer rendered.
//
// previous are the records of the owner's status; what belongs there afterwards is in Report.Records, after an error as
// well. children must have been built for this call, owner reference included (see OwnerReference), and are not changed.
// prunable are the kinds that may be deleted; records of other kinds are kept for ever.
//
// remember is called with the previous records and those of new children, without UID, before the first object is
// created, and only if there is a new one; and again before a child that was deleted is made again, without its old UID.
// It must store them; an error of it ends the pass.
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
	p.store = remember
	if err = p.remember(ctx); err != nil {
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
