package faults

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/world"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// kinds are those that the operator reconciles, in the order in which their
// passes run.
var kinds = []string{"TerdutServer", "TerdutTeam", "TerdutEscalationRule", "TerdutDeadmanSwitch", "TerdutAlertSource"}

// Cluster is the API server of a run as steps and oracles see it, always at
// the present.
type Cluster interface {
	// Objects are all objects of some kinds, by namespace and name; of every kind
	// that a scenario may touch when none is named. They are read only.
	Objects(kinds ...string) []*unstructured.Unstructured
	// Object is one object, or nil. It is read only.
	Object(id world.ID) *unstructured.Unstructured
}

// Engine is what makes a run go: the operator, and whoever stands in for
// Kubernetes.
type Engine interface {
	// Settle lets the operator work until nothing changes any more and nothing is
	// left that waits for the end of its grace.
	Settle() error
	// Resync lets the operator look at every object so often again.
	Resync(times int) error
	// Stop ends the operator. Nothing that it does from then on has an effect.
	Stop() error
}

// Run is one play of a scenario. What happens is told to it from several
// goroutines where the level has them.
type Run struct {
	World Cluster
	// User writes as people do: no fault meets it.
	User client.Client
	// Injector has the faults.
	Injector *inject.Injector
	// Engine works.
	Engine
	// Clock is that of operator and servers; nil means time.Now.
	Clock func() time.Time

	peers map[types.NamespacedName]*refserver.Server
	// given are ids of keys that people have; they are in no Secret of ours.
	given map[int64]bool
	watch *history

	// kept is what steps keep for later ones.
	kept map[string]any

	mu     sync.Mutex
	log    strings.Builder
	events []string
	errs   []string
}

// NewRun is a run in which nothing has happened.
func NewRun(cluster Cluster, user client.Client, engine Engine) *Run {
	r := &Run{
		World: cluster, User: user, Injector: &inject.Injector{}, Engine: engine,
		peers: map[types.NamespacedName]*refserver.Server{}, given: map[int64]bool{}, kept: map[string]any{},
	}
	r.watch = newHistory(r)
	return r
}

// Changed is told of every change on the API server, at once and in order.
func (r *Run) Changed(c world.Change) { r.watch.change(c) }

// Logged is told of every line that the operator logs.
func (r *Run) Logged(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.WriteString(line + "\n")
}

// Noted is told of every Event, as one line.
func (r *Run) Noted(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// Failed is told of every pass that ended with an error.
func (r *Run) Failed(id world.ID, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, fmt.Sprintf("%s: %v", id, err))
}

// story is what has happened.
func (r *Run) story() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("effects:\n%s\nevents:\n%s\nerrors:\n%s",
		strings.Join(r.Injector.Effects(), "\n"), strings.Join(r.events, "\n"), strings.Join(r.errs, "\n"))
}

// Network leads from the name of a Service to the server behind it.
func (r *Run) Network() http.RoundTripper { return network{r} }

// Serve puts a terdut-server behind a TerdutServer to be. It answers while the
// TerdutServer has a Deployment with ready pods.
func (r *Run) Serve(namespace, name string, o refserver.Options) (*refserver.Server, error) {
	o.SkipValidation = true // test/envtest validates all traffic; here there is too much of it
	if o.Clock == nil {
		o.Clock = r.Clock
	}
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

// State is how everything looks, as lines, without what differs from run to run.
func (r *Run) State() []string { return r.state() }

// Waits tells whether something that was replaced still works.
func (r *Run) Waits() bool {
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
func (r *Run) writes() int64 { return r.watch.count() }

func idOf(o *unstructured.Unstructured) world.ID {
	return world.ID{Kind: o.GetKind(), NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }
