package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/operator"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

const (
	// resync is the time between two looks at a settled object.
	resync = 10 * time.Minute
	// horizon is how long everything has to be quiet until it counts as settled.
	horizon = 2 * resync
	// pollsFor is how long an object may ask to be looked at again and again,
	// until it is looked at no more often than that.
	pollsFor = time.Minute
)

// kinds are those that the operator reconciles, in the order in which their
// passes run.
var kinds = []string{"TerdutServer", "TerdutTeam", "TerdutEscalationRule", "TerdutDeadmanSwitch", "TerdutAlertSource"}

// Run is one play of a scenario.
type Run struct {
	World *world.World
	// User writes as people do: no fault meets it.
	User client.Client
	// Injector has the faults.
	Injector *inject.Injector

	peers map[types.NamespacedName]*refserver.Server
	// given are ids of keys that people have; they are in no Secret of ours.
	given map[int64]bool

	now   *operator.Incarnation
	fence *inject.Fence
	queue map[world.ID]*turn
	// lag is how many revisions the cache is behind; frozen holds kinds of which
	// it sees nothing new.
	lag    int64
	frozen map[string]int64
	// thaw is how many idle moments more they stay so.
	thaw int

	watch  *history
	log    strings.Builder
	events []string
	errs   []string
	// twisted is what went wrong while another incarnation worked.
	twisted error
}

// turn is when an object is looked at next.
type turn struct {
	// seen is the world's revision after the last pass.
	seen int64
	// at is when the operator asked to come again; zero for never.
	at    time.Time
	fails int
}

// newRun begins with nothing but an incarnation of the operator.
func newRun() (*Run, error) {
	w, err := world.New()
	if err != nil {
		return nil, err
	}
	r := &Run{
		World: w, User: w.Client(w.Live(), nil), Injector: &inject.Injector{},
		peers: map[types.NamespacedName]*refserver.Server{}, given: map[int64]bool{},
		queue: map[world.ID]*turn{}, frozen: map[string]int64{},
	}
	r.watch = newHistory(r)
	w.Watch(r.watch.change)
	r.Injector.Twist = r.twist
	return r, r.start()
}

// start starts an incarnation with an empty memory and a cache that shows the
// present.
func (r *Run) start() error {
	fence := &inject.Fence{}
	around := r.Injector.Kubernetes(fence)
	cached, live := r.World.Live(), r.World.Live()
	cached.At, cached.Around, cached.Filter, cached.Shape = r.sees, around, inCache, asCached
	live.Around = around
	one, err := operator.Start(context.Background(), operator.Options{
		Client: r.World.Client(cached, around), Live: live, Indexer: r.World,
		Transport: r.Injector.REST(fence, network{r}),
		Recorder:  recorder{r}, Resync: resync,
		Log: funcr.New(func(prefix, args string) { r.log.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 10}),
	})
	if err != nil {
		return err
	}
	r.now, r.fence = one, fence
	for _, t := range r.queue {
		*t = turn{seen: -1}
	}
	return nil
}

// sees is the revision up to which the operator's cache shows a kind.
func (r *Run) sees(kind string) int64 {
	if at, ok := r.frozen[kind]; ok {
		return at
	}
	return max(r.World.Revision()-r.lag, 0)
}

// inCache tells what the operator's cache holds: of these kinds, what bears its
// label.
func inCache(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "Secret", "Deployment", "Service":
		return o.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy
	}
	return true
}

// asCached is how an object is held: with managedFields only where they are
// compared.
func asCached(o *unstructured.Unstructured) {
	switch o.GetKind() {
	case "Secret", "Deployment", "Service":
	default:
		o.SetManagedFields(nil)
	}
}

// stop ends the incarnation.
func (r *Run) stop() error {
	r.fence.Down = true
	return r.now.Stop()
}

// Serve puts a terdut-server behind a TerdutServer to be. It answers while the
// TerdutServer has a Deployment with ready pods.
func (r *Run) Serve(namespace, name string, o refserver.Options) (*refserver.Server, error) {
	o.SkipValidation = true // test/envtest validates all traffic; here there is too much of it
	server, err := refserver.New(o)
	if err != nil {
		return nil, fmt.Errorf("make a reference server: %w", err)
	}
	r.peers[types.NamespacedName{Namespace: namespace, Name: name}] = server
	return server, nil
}

// peer is the server behind a TerdutServer.
func (r *Run) peer(namespace, name string) *refserver.Server {
	return r.peers[types.NamespacedName{Namespace: namespace, Name: name}]
}

// network leads from the name of a Service to the server behind it.
type network struct{ run *Run }

// RoundTrip implements http.RoundTripper.
func (n network) RoundTrip(req *http.Request) (*http.Response, error) {
	name, rest, _ := strings.Cut(req.URL.Hostname(), ".")
	namespace, _, _ := strings.Cut(rest, ".")
	server, ok := n.run.peers[types.NamespacedName{Namespace: namespace, Name: name}]
	if !ok || !n.run.serves(namespace, name) {
		return nil, world.ErrUnreachable
	}
	return n.run.watch.call(req, server)
}

// serves tells whether a server has a pod.
func (r *Run) serves(namespace, name string) bool {
	deployment := r.World.Object(world.ID{Kind: "Deployment", NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}})
	if deployment == nil {
		return false
	}
	ready, _, _ := unstructured.NestedInt64(deployment.Object, "status", "availableReplicas")
	return ready > 0
}

// Settle lets the operator work until nothing changes for the horizon and
// nothing is left that waits for the end of its grace.
func (r *Run) Settle() error {
	quiet, writes := time.Now(), r.writes()
	for range 2000 {
		changed, err := r.actors()
		if err != nil {
			return err
		}
		ran, err := r.round()
		if err != nil {
			return err
		}
		if r.writes() != writes {
			quiet, writes = time.Now(), r.writes()
		}
		if ran || changed || r.Injector.Deliver() || r.catchUp() {
			continue
		}
		if time.Since(quiet) >= horizon && !r.waits() {
			return nil
		}
		r.rest(time.Since(quiet) > pollsFor)
	}
	return fmt.Errorf("does not settle: quiet for %s, turns %s; the last effects: %s; the last errors: %s",
		time.Since(quiet), r.turns(), strings.Join(last(r.Injector.Trace, 6), ", "), strings.Join(last(r.errs, 5), "; "))
}

// waits tells whether something that was replaced still works.
func (r *Run) waits() bool {
	for _, o := range r.World.Objects(kinds...) {
		_, key, _ := unstructured.NestedMap(o.Object, "status", "credentials", "retiring")
		retiring, _, _ := unstructured.NestedSlice(o.Object, "status", "retiring")
		if key || len(retiring) > 0 {
			return true
		}
	}
	return false
}

// writes counts what has changed on both planes.
func (r *Run) writes() int64 { return r.World.Revision() + r.watch.mutations }

// round runs a pass over everything whose turn it is, and tells whether there
// was anything.
func (r *Run) round() (ran bool, err error) {
	for _, id := range r.due() {
		ran = true
		if err := r.pass(id); err != nil {
			return ran, err
		}
	}
	return ran, nil
}

// due are the objects that are to be looked at now: something has changed since
// the last look, or the operator has asked for it. Objects that are gone are
// looked at once more.
func (r *Run) due() []world.ID {
	for _, o := range r.World.Objects(kinds...) {
		id := idOf(o)
		if _, ok := r.queue[id]; !ok {
			r.queue[id] = &turn{seen: -1}
		}
	}
	var out []world.ID
	for id, t := range r.queue {
		if t.seen < r.World.Revision() || !t.at.IsZero() && !t.at.After(time.Now()) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b world.ID) int {
		if a.Kind != b.Kind {
			return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind)
		}
		return strings.Compare(a.String(), b.String())
	})
	return out
}

// pass is one reconcile. After a crash a new incarnation is there.
func (r *Run) pass(id world.ID) error {
	t := r.queue[id]
	one, fence := r.now, r.fence
	result, err := one.Reconcile(context.Background(), id.Kind, id.NamespacedName)
	if one != r.now {
		fence.Down = true // another one has the lease
		return errors.Join(one.Stop(), r.twisted)
	}
	if fence.Down {
		return errors.Join(one.Stop(), r.start())
	}
	t.seen, t.at = r.World.Revision(), time.Time{}
	if err != nil {
		r.errs = append(r.errs, fmt.Sprintf("%s: %v", id, err))
		t.at = time.Now().Add(min(time.Second<<min(t.fails, 10), 5*time.Minute))
		t.fails++
		return nil
	}
	t.fails = 0
	if result.RequeueAfter > 0 {
		t.at = time.Now().Add(result.RequeueAfter)
	}
	return nil
}

// rest lets the clock run to the next turn. Resyncs have a jitter: they are
// taken together, so that their order is the same in every run. Who polls for
// long is looked at less often than it asks for, as by an operator with much to
// do.
func (r *Run) rest(polls bool) {
	wait := resync
	for _, t := range r.queue {
		if !t.at.IsZero() {
			wait = min(wait, time.Until(t.at))
		}
	}
	if polls {
		wait = max(wait, pollsFor)
	}
	if wait > resync/2 {
		wait = resync + resync/10
	}
	time.Sleep(max(wait, time.Millisecond)) //nolint:forbidigo // the clock of a bubble: no time passes
}

func idOf(o *unstructured.Unstructured) world.ID {
	return world.ID{Kind: o.GetKind(), NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// turns says when each object is looked at next.
func (r *Run) turns() string {
	var out []string
	for id, t := range r.queue {
		if !t.at.IsZero() {
			out = append(out, fmt.Sprintf("%s in %s", id, time.Until(t.at)))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
