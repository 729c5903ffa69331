package real

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/test/faults"
	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// Plane is a control plane on which many runs are played side by side.
type Plane struct {
	people, operator *rest.Config
	admin            client.Client
	kinds            map[schema.GroupResource]string
	stop             context.CancelFunc
	ended            chan error

	mu   sync.Mutex
	made int
	runs map[string]*engine
}

// Start makes a plane of an Env, whose operator does not run.
func Start(ctx context.Context, env *testenv.Env) (*Plane, error) {
	_, err := envtest.InstallCRDs(env.Plane.Config, envtest.CRDInstallOptions{Paths: []string{testenv.Path("test", "crds")}})
	if err != nil {
		return nil, fmt.Errorf("install the custom resources of other projects: %w", err)
	}
	operator, err := env.Plane.AddUser(rbac.Operator)
	if err != nil {
		return nil, err
	}
	known, err := kinds(env.Admin.RESTMapper())
	if err != nil {
		return nil, err
	}
	p := &Plane{admin: env.Admin, kinds: known, people: plain(env.Plane.Config), operator: plain(operator), ended: make(chan error, 1), runs: map[string]*engine{}}
	watching, err := cache.New(p.people, cache.Options{Scheme: controllers.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("set up the watch of all runs: %w", err)
	}
	running, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() { p.ended <- watching.Start(running) }()
	for _, gvk := range shown {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		informer, err := watching.GetInformer(ctx, object)
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc:    func(o any) { p.seen(o, false) },
				UpdateFunc: func(_, o any) { p.seen(o, false) },
				DeleteFunc: func(o any) { p.seen(o, true) },
			})
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("watch %s of all runs: %w", gvk.Kind, err)
		}
	}
	return p, nil
}

// Stop ends the plane. All runs have ended.
func (p *Plane) Stop() error {
	p.stop()
	return <-p.ended
}

// plain speaks JSON, which a mask can read, and has no limit of its own.
func plain(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.ContentType, out.AcceptContentTypes = "application/json", "application/json"
	out.QPS, out.RateLimiter = -1, nil
	return out
}

// suffixes end the names of namespaces.
var suffixes = regexp.MustCompile(`-run[0-9]{5}`)

// rollOut makes pods of a Deployment that somebody else than the operator has
// made; Rollouts of an Env know the operator's. A conflict brings it here again.
func (p *Plane) rollOut(o *unstructured.Unstructured) {
	if o.GetKind() != "Deployment" || o.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBy {
		return
	}
	pods, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if ready, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas"); !found || ready == pods {
		return
	}
	patch := fmt.Sprintf(`{"status":{"observedGeneration":%[1]d,"replicas":%[2]d,"updatedReplicas":%[2]d,"readyReplicas":%[2]d,"availableReplicas":%[2]d}}`,
		o.GetGeneration(), pods)
	_ = p.admin.Status().Patch(context.Background(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))) // it is gone, or comes here again
}

// seen leads an object to its run.
func (p *Plane) seen(o any, gone bool) {
	if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	object, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if !gone {
		p.rollOut(object)
	}
	suffix := suffixes.FindString(object.GetNamespace() + " " + object.GetName())
	p.mu.Lock()
	run := p.runs[suffix]
	p.mu.Unlock()
	if run == nil {
		return
	}
	raw, err := object.MarshalJSON()
	if err != nil {
		return // an object that came as JSON can go so
	}
	masked := &unstructured.Unstructured{}
	if masked.UnmarshalJSON(bytes.ReplaceAll(raw, []byte(suffix), nil)) == nil {
		run.touched(masked, gone)
	}
}

// Stage is a scenario on a plane. The first run on it is undisturbed, and shows
// to the others when they are done.
type Stage struct {
	plane *Plane

	mu sync.Mutex
	// targets are the states after each step.
	targets [][]string
}

// Stage makes a stage.
func (p *Plane) Stage() *Stage { return &Stage{plane: p} }

// Begin is the level of the scenario.
func (s *Stage) Begin() (*faults.Run, error) {
	p := s.plane
	p.mu.Lock()
	p.made++
	suffix := fmt.Sprintf("-run%05d", p.made)
	p.mu.Unlock()
	s.mu.Lock()
	e := &engine{stage: s, plane: p, suffix: suffix, targets: s.targets}
	s.mu.Unlock()
	if err := e.begin(); err != nil {
		return nil, err
	}
	return e.Run, nil
}

// masked is a client's way to the API server as one run sees it.
func masked(config *rest.Config, suffix string, answered func([]byte)) *rest.Config {
	out := rest.CopyConfig(config)
	out.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &mask{suffix: suffix, next: next, answered: answered}
	})
	return out
}

func clientOf(config *rest.Config) (client.Client, error) {
	return client.New(config, client.Options{Scheme: controllers.Scheme()})
}
