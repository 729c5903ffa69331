package transitions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// allowed is the label that the servers here ask of a namespace.
const allowed = "terdut.ryuvia.com/allowed"

// names of the object that is changed, by kind.
var nameOf = map[string]string{
	"TerdutServer": "terdut", "TerdutTeam": "platform", "TerdutEscalationRule": "rule", "TerdutDeadmanSwitch": "watchdog", "TerdutAlertSource": "alerts",
}

// plain is the spec of a server that is not what is changed.
var plain = fields{
	"database":     fields{"dsn": "postgres://terdut@db:5432/terdut", "passwordSecretRef": fields{"name": "db", "key": "password"}},
	"credentials":  fields{"mode": "Scoped", "gracePeriod": "0s"},
	"allowedTeams": fields{"namespaces": fields{"from": "Selector", "selector": fields{"matchLabels": fields{allowed: "true"}}}},
}

// world is one installation around one object: a server in the platform team's
// namespace, and a tenant with a team on it.
type world struct {
	kind, base       string
	platform, tenant string
	key              string
	peer             *testenv.Peer
	withoutTeam      bool
	view             *view
	// generation is what the last change from here led to. Nobody else changes a
	// spec.
	generation int64
}

// newWorld makes everything but the object.
func newWorld(ctx context.Context, kind, base string, leaveOut ...string) (*world, error) {
	w := &world{kind: kind, base: base, withoutTeam: slices.Contains(leaveOut, "platform"), view: &view{}}
	var err error
	if w.platform, err = env.Namespace(ctx, "platform", nil); err != nil {
		return nil, err
	}
	if w.tenant, err = env.Namespace(ctx, "tenant", map[string]string{allowed: "true"}); err != nil {
		return nil, err
	}
	if w.peer, err = env.Network.Serve(w.platform, "terdut", refserver.Options{}); err != nil {
		return nil, err
	}
	if slices.Contains([]string{"claimed", "external"}, base) {
		if _, w.key, err = w.peer.AddUser("somebody", true); err != nil {
			return nil, err
		}
	}
	if err = w.furnish(ctx, leaveOut); err != nil {
		return nil, err
	}
	return w, w.depend(ctx, leaveOut)
}

// furnish makes what stands around a server.
func (w *world) furnish(ctx context.Context, leaveOut []string) error {
	all, err := w.documents()
	if err != nil {
		return err
	}
	for _, object := range all {
		if slices.Contains(leaveOut, object.GetName()) {
			continue
		}
		if err := w.put(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// documents are the objects around a server of this base.
func (w *world) documents() ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(filepath.Join("testdata", "world.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read what stands around a server: %w", err)
	}
	var out []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		object := &unstructured.Unstructured{}
		asJSON, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			return nil, fmt.Errorf("read what stands around a server: %w", err)
		}
		if err = object.UnmarshalJSON(asJSON); err != nil {
			return nil, fmt.Errorf("read what stands around a server: %w", err)
		}
		if only := object.GetAnnotations()["base"]; only == "" || slices.Contains(strings.Fields(only), w.base) {
			out = append(out, object)
		}
	}
	return out, nil
}

// put makes an object with its status, which only clusters of databases have.
func (w *world) put(ctx context.Context, object *unstructured.Unstructured) error {
	object.Object = w.here(object.Object)
	object.SetNamespace(w.platform)
	status := object.Object["status"]
	if err := env.Admin.Create(ctx, object); err != nil {
		return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if status == nil {
		return nil
	}
	object.Object["status"] = status
	if err := env.Admin.Status().Update(ctx, object); err != nil {
		return fmt.Errorf("write the status of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// depend makes the objects that the one under test refers to. A tenant's team is
// there when a server is under test, too: it shows what the server lets through.
// Base main, which is about pods, does without.
func (w *world) depend(ctx context.Context, leaveOut []string) error {
	if w.kind != "TerdutServer" && !slices.Contains(leaveOut, "terdut") {
		spec := plain
		if slices.Contains(leaveOut, "consent") {
			spec = with(plain, "allowedTeams", gone{})
		}
		if err := w.create(ctx, "TerdutServer", w.platform, spec); err != nil {
			return err
		}
		if err := w.people(ctx, leaveOut...); err != nil {
			return err
		}
	}
	if w.kind == "TerdutTeam" || w.kind == "TerdutServer" && w.base == "main" || w.withoutTeam {
		return nil
	}
	return w.team(ctx)
}

func (w *world) team(ctx context.Context) error {
	return w.create(ctx, "TerdutTeam", w.tenant, fields{
		"serverRef": fields{"name": "terdut", "namespace": w.platform}, "displayName": "Platform",
	})
}

// consent gives the server a spec that admits the tenant, or does not.
func (w *world) consent(ctx context.Context, spec fields) error {
	server := *w
	server.kind = "TerdutServer"
	return server.change(ctx, spec)
}

// people waits for the bootstrap and adds those that a policy names. Before it,
// they would count as somebody else's.
func (w *world) people(ctx context.Context, leaveOut ...string) error {
	server := &v1alpha1.TerdutServer{}
	err := until(ctx, func() string {
		if err := seen.Get(ctx, client.ObjectKey{Namespace: w.platform, Name: "terdut"}, server); err != nil {
			return err.Error()
		}
		if server.Status.ObservedGeneration != server.Generation || len(w.peer.Users()) == 0 {
			return "the server is not bootstrapped"
		}
		return ""
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"alice", "bob"} {
		if slices.Contains(leaveOut, name) {
			continue
		}
		if _, _, err := w.peer.AddUser(name, false); err != nil {
			return err
		}
	}
	return nil
}

// object is the one under test with a spec.
func (w *world) object(spec fields) *unstructured.Unstructured {
	namespace := w.tenant
	if w.kind == "TerdutServer" {
		namespace = w.platform
	}
	return w.shaped(w.kind, namespace, spec)
}

func (w *world) shaped(kind, namespace string, spec fields) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: fields{"spec": w.here(spec)}}
	object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
	object.SetNamespace(namespace)
	object.SetName(nameOf[kind])
	return object
}

func (w *world) create(ctx context.Context, kind, namespace string, spec fields) error {
	object := w.shaped(kind, namespace, spec)
	if err := env.Admin.Create(ctx, object); err != nil {
		return fmt.Errorf("create %s: %w", kind, err)
	}
	return nil
}

// change gives the object under test another spec. A conflict with a status that
// was written meanwhile is tried again.
func (w *world) change(ctx context.Context, spec fields) error {
	for {
		object := w.object(spec)
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		object.Object["spec"] = w.here(spec)
		err := env.Admin.Update(ctx, object)
		if err == nil {
			w.generation = object.GetGeneration()
		}
		if !apierrors.IsConflict(err) || ctx.Err() != nil {
			return err
		}
	}
}

// here is a copy with the places of this world.
func (w *world) here(spec fields) fields {
	text, err := json.Marshal(runtime.DeepCopyJSON(spec))
	if err != nil {
		panic(err) // it was read from YAML
	}
	replaced := strings.NewReplacer(
		"$(platform)", w.platform, "$(tenant)", w.tenant, "$(key)", w.key, "$(certificate)", strings.ReplaceAll(certificate, "\n", `\n`),
	).Replace(string(text))
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Value","value":` + replaced + `}`)); err != nil {
		panic(err)
	}
	return out.Object["value"].(fields)
}
