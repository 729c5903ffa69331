package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/outcome"
)

// The resource of these tests is a ConfigMap: Data holds its spec, an
// annotation its status.
type resource = corev1.ConfigMap

const (
	statusAnnotation = "status"
	testFinalizer    = "test/cleanup"
	testGrace        = time.Hour
)

// world is a small API server and a small REST server. Every call that can
// change something, and every list of the REST server, goes through touch.
type world struct {
	naming Naming
	keyed  bool // objects hand out a key
	touch  func(what string, do func() error) error

	resources map[string]*resource
	states    []State[string]
	version   int
	things    []Thing[string]
	lastID    int64
	secrets   map[types.UID]int64 // whose key each resource has published
	given     int64               // the object whose key somebody has kept
	now       time.Time
	log       []string

	// always is asked around every call; broken is its first complaint.
	always func(*world) error
	broken error

	// yield holds the actor that runs; yields are those of the others.
	yield   func(string) bool
	yields  map[*actor]func(string) bool
	lastErr error
	// snapshot is what a Snapshot shows; nil: what is there. last is how fresh
	// the last list was.
	snapshot []Thing[string]
	last     Freshness
	// spell is what the server makes of a name; nil keeps it.
	spell func(string) string
	// blind hides every other resource from what is read through the cache.
	blind bool
}

func newWorld(naming Naming, keyed bool) *world {
	w := &world{
		naming: naming, keyed: keyed, resources: map[string]*resource{}, secrets: map[types.UID]int64{},
		now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	w.touch = func(_ string, do func() error) error { return do() }
	if naming == Singleton {
		w.things = []Thing[string]{{ID: 7, Name: "policy"}}
	}
	return w
}

// put makes a resource, or changes the spec of the one that is there.
func (w *world) put(name, wantName, body string) *resource {
	w.version++
	r, ok := w.resources[name]
	if !ok {
		age := metav1.NewTime(w.now.Add(time.Duration(len(w.resources)) * time.Minute))
		uid := types.UID(fmt.Sprintf("%08d-%s", len(w.resources), name))
		r = &resource{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: uid, CreationTimestamp: age}}
		w.resources[name] = r
	}
	r.Data = map[string]string{"name": wantName, "body": body}
	r.Generation++
	r.ResourceVersion = strconv.Itoa(w.version)
	return r
}

func (w *world) remove(name string) {
	w.version++
	r := w.resources[name]
	if len(r.Finalizers) == 0 {
		delete(w.resources, name)
		return
	}
	r.DeletionTimestamp = &metav1.Time{Time: w.now}
	r.ResourceVersion = strconv.Itoa(w.version)
}

// loop is a fresh incarnation of the operator.
func (w *world) loop() *Loop[*resource, *world, string] {
	l := &Loop[*resource, *world, string]{
		Kind: modelKind{}, Noun: "thing", Naming: w.naming,
		Grace:  func(r *resource) time.Duration { return graceOf(r.Data["grace"]) },
		Rotate: func(r *resource) string { return r.Annotations["rotate"] },
		New:    func() *resource { return &resource{} }, NewList: func() client.ObjectList { return &corev1.ConfigMapList{} },
		ClaimKey: func(r *resource) string { return r.Data["name"] },
		MayAdopt: func(r *resource, _ *world) Adoption {
			return Adoption{Allowed: r.Annotations["adopt"] != "" || w.naming == Singleton, Askable: true, Otherwise: "ask"}
		},
		Orphans:     func(r *resource) bool { return r.Annotations["orphan"] != "" },
		Terminating: func(context.Context, string) (bool, error) { return false, nil },
		Recorder:    silent{}, Schedule: outcome.NewSchedule(time.Minute), Finalizer: testFinalizer,
		Now: func() time.Time { return w.now },
	}
	c := &modelClient{w: w, loop: l}
	l.Kind, l.Client, l.Live = modelKind{w: w}, c, c
	return l
}

// graceOf is the grace that a resource asks for; testGrace when it asks for none.
func graceOf(text string) time.Duration {
	if grace, err := time.ParseDuration(text); err == nil {
		return grace
	}
	return testGrace
}

// settle runs passes over every resource until none changes anything.
func (w *world) settle() error {
	for range 12 {
		before := w.version + len(w.log)
		for _, name := range sortedNames(w.resources) {
			if _, err := w.loop().Reconcile(context.Background(), request(name)); err != nil {
				return err
			}
		}
		if before == w.version+len(w.log) {
			return nil
		}
	}
	return fmt.Errorf("does not settle: %v", w.log)
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}

func sortedNames(m map[string]*resource) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (w *world) thing(id int64) *Thing[string] {
	i := slices.IndexFunc(w.things, func(t Thing[string]) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return &w.things[i]
}

func (w *world) taken(name string, except int64) bool {
	return slices.ContainsFunc(w.things, func(t Thing[string]) bool { return t.Name == name && t.ID != except })
}

func (w *world) spelt(name string) string {
	if w.spell == nil {
		return name
	}
	return w.spell(name)
}

// effect is a call that changes something on the REST server.
func (w *world) effect(what string, do func() error) error {
	return w.touch(what, func() error {
		w.log = append(w.log, what)
		return do()
	})
}

// modelKind is the kind whose objects live in the world.
type modelKind struct{ w *world }

var errTaken = fmt.Errorf("%w: %w", ErrConflict, outcome.Refused(synced, reasonNameConflict, "in use"))

func (k modelKind) Resolve(context.Context, *resource) (Place, *world, error) {
	return Place{Server: types.NamespacedName{Name: "server"}, ServerUID: "s", TeamID: 7}, k.w, nil
}

func (k modelKind) Recorded(ctx context.Context, r *resource) (Place, *world, error) {
	return k.Resolve(ctx, r)
}

func (k modelKind) Desired(_ context.Context, _ *world, r *resource, _ Freshness) (Want[string], error) {
	if k.w.naming == Singleton {
		return Want[string]{Name: "policy", Body: r.Data["body"]}, nil
	}
	return Want[string]{Name: r.Data["name"], Body: r.Data["body"]}, nil
}

func (k modelKind) List(_ context.Context, w *world, r *resource, as Freshness) (out []Thing[string], err error) {
	err = w.touch("list", func() error {
		things := w.things
		if w.last = as; as == Snapshot && w.snapshot != nil {
			things = w.snapshot
		}
		for _, t := range things {
			t.KeyLost = w.keyed && w.secrets[r.UID] != t.ID
			if t.KeyLost && t.ID == w.given {
				t.Yield = t.ID
			}
			t.KeyHeld = w.keyed && !t.KeyLost
			t.Empty = w.naming == Singleton && t.Body == ""
			out = append(out, t)
		}
		return nil
	})
	return out, err
}

func (k modelKind) Compare(want, got string) Difference {
	if want == got {
		return Difference{}
	}
	// Of what bears a key the body is its kind, which never changes.
	return Difference{Fields: []string{"body"}, Replace: k.w.naming == Final || k.w.keyed}
}

func (k modelKind) Create(_ context.Context, w *world, _ *resource, want Want[string]) (made Thing[string], err error) {
	err = w.effect("create "+want.Name, func() error {
		if want.Body == "bad" {
			return outcome.Refused(synced, "Invalid", "bad body")
		}
		want.Name = w.spelt(want.Name)
		if w.taken(want.Name, 0) {
			return errTaken
		}
		w.lastID++
		made = Thing[string]{ID: w.lastID, Name: want.Name, CreatedAt: fmt.Sprint("t", w.lastID), Body: want.Body}
		if w.naming == Provisional && !w.keyed {
			made.Body = "" // a new team has no groups yet
		}
		w.things = append(w.things, made)
		made.KeyLost, made.Yield = w.keyed, made.ID
		return nil
	})
	return made, err
}

func (k modelKind) Publish(_ context.Context, w *world, r *resource, made Thing[string]) error {
	return w.effect("publish", func() error { w.secrets[r.UID] = made.Yield.(int64); return nil })
}

func (k modelKind) Update(_ context.Context, w *world, _ *resource, want Want[string], got Thing[string]) (Thing[string], error) {
	now := got
	err := w.effect("update "+want.Name, func() error {
		want.Name = w.spelt(want.Name)
		t := w.thing(got.ID)
		switch {
		case t == nil:
			return ErrAbsent
		case w.taken(want.Name, got.ID):
			return errTaken
		}
		if w.keyed && want.Body != t.Body {
			return errors.New("the kind of an object never changes")
		}
		t.Name, t.Body = want.Name, want.Body
		now.Name, now.Body = want.Name, want.Body
		return nil
	})
	return now, err
}

func (k modelKind) Delete(_ context.Context, w *world, _ *resource, id int64) error {
	return w.effect(fmt.Sprint("delete ", id), func() error {
		t := w.thing(id)
		switch {
		case t == nil:
			return ErrAbsent
		case w.naming == Singleton:
			t.Body = ""
		default:
			w.things = slices.DeleteFunc(w.things, func(t Thing[string]) bool { return t.ID == id })
		}
		return nil
	})
}

// Load and Store keep copies of states, and number them in an annotation.
func (k modelKind) Load(r *resource) (s State[string]) {
	if i, err := strconv.Atoi(r.Annotations[statusAnnotation]); err == nil {
		s = clone(k.w.states[i])
	}
	return s
}

func (k modelKind) Store(r *resource, s State[string]) {
	metav1.SetMetaDataAnnotation(&r.ObjectMeta, statusAnnotation, strconv.Itoa(len(k.w.states)))
	k.w.states = append(k.w.states, clone(s))
}

func clone(s State[string]) State[string] {
	if s.Record != nil {
		s.Record = ptr.To(*s.Record)
	}
	if s.Pending != nil {
		s.Pending = ptr.To(*s.Pending)
	}
	if s.Applied != nil {
		s.Applied = ptr.To(*s.Applied)
	}
	s.Retiring, s.Conditions = slices.Clone(s.Retiring), slices.Clone(s.Conditions)
	return s
}

func (k modelKind) Status(r *resource) (runtime.ApplyConfiguration, error) {
	return &modelStatus{r.DeepCopy()}, nil
}
