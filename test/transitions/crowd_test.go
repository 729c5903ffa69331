package transitions_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
)

// neighbours are the names of resources that live beside the one under test.
var neighbours = []string{"neighbour", "holder"}

// crowded is a world with neighbours and strangers, in which an object of that
// spec was created.
func crowded(ctx context.Context, kind, base string, spec fields) (*world, error) {
	var leaveOut []string
	if kind == "TerdutServer" {
		leaveOut = []string{"platform"} // a server with teams is not deleted
	}
	w, err := newWorld(ctx, kind, base, leaveOut...)
	if err != nil {
		return nil, err
	}
	if err = w.crowd(ctx); err != nil {
		return nil, fmt.Errorf("make neighbours: %w", err)
	}
	return w, env.Admin.Create(ctx, w.object(spec))
}

// crowd makes the neighbours, and what somebody else has on the server.
func (w *world) crowd(ctx context.Context) error {
	if w.kind == "TerdutServer" {
		if _, err := env.Network.Serve(w.platform, "neighbour", refserver.Options{}); err != nil {
			return err
		}
		return w.neighbour(ctx, "TerdutServer", "neighbour", plain)
	}
	if err := w.secrets(ctx); err != nil {
		return err
	}
	if _, err := w.peer.Model().CreateTeam("Strangers"); err != nil {
		return err
	}
	if err := w.neighbour(ctx, "TerdutTeam", "neighbour", fields{
		"serverRef": fields{"name": "terdut", "namespace": w.platform}, "displayName": "Neighbour",
	}); err != nil {
		return err
	}
	for kind, spec := range parts("neighbour", "neighbour") {
		if err := w.neighbour(ctx, kind, "neighbour", spec); err != nil {
			return err
		}
	}
	if w.kind == "TerdutTeam" {
		return nil
	}
	return w.sharers(ctx)
}

// parts are specs of what belongs to a team.
func parts(team, name string) map[string]fields {
	of := fields{"name": team}
	return map[string]fields{
		"TerdutEscalationRule": {"teamRef": of, "levels": []any{fields{"timeout": "5m", "targets": []any{fields{"kind": "oncall"}}}}},
		"TerdutDeadmanSwitch":  {"teamRef": of, "name": name, "matcher": "alertname=Watchdog", "timeout": "15m", "severity": "info"},
		"TerdutAlertSource":    {"teamRef": of, "kind": "alertmanager", "name": name},
	}
}

// sharers make use of the very team of the object under test: one of ours, and
// one whom nobody here knows.
func (w *world) sharers(ctx context.Context) error {
	var team int64
	if err := w.settled(ctx, "TerdutTeam", "platform"); err != nil {
		return err
	}
	for _, t := range w.peer.Teams() {
		if t.Name == "Platform" {
			team = t.ID
		}
	}
	if _, err := w.peer.Model().CreateSwitch(team, model.Switch{
		Name: "taken", Matcher: "alertname=Taken", TimeoutText: "1h", Severity: "info",
	}); err != nil {
		return err
	}
	if _, _, err := w.peer.Model().CreateIntegration(team, "alertmanager", "taken", ""); err != nil {
		return err
	}
	specs := parts("platform", "held")
	delete(specs, "TerdutEscalationRule") // a team has one
	for kind, spec := range specs {
		if err := w.neighbour(ctx, kind, "holder", spec); err != nil {
			return err
		}
	}
	return nil
}

// secrets are Secrets of the tenant that do not do.
func (w *world) secrets(ctx context.Context) error {
	for name, data := range map[string]map[string]string{
		"foreign":  {"note": "opens nothing at all"},
		"no-key":   {"url": "/api/integrations/1"},
		"not-keys": {"url": "ftp://somewhere", "key": "opens\nnothing"},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.tenant, Name: name}, StringData: data}
		if err := env.Admin.Create(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// neighbour makes a resource and waits until it is ready.
func (w *world) neighbour(ctx context.Context, kind, name string, spec fields) error {
	namespace := w.tenant
	if kind == "TerdutServer" {
		namespace = w.platform
	}
	object := w.shaped(kind, namespace, spec)
	object.SetName(name)
	if err := env.Admin.Create(ctx, object); err != nil {
		return fmt.Errorf("create %s %s: %w", kind, name, err)
	}
	return w.settled(ctx, kind, name)
}

// settled waits until a resource is ready.
func (w *world) settled(ctx context.Context, kind, name string) error {
	namespace := w.tenant
	if kind == "TerdutServer" {
		namespace = w.platform
	}
	object := w.shaped(kind, namespace, fields{})
	object.SetName(name)
	return until(ctx, func() string {
		if err := seen.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err.Error()
		}
		if status, reason, _ := readiness(object); status != "True" {
			return fmt.Sprintf("%s %s is not ready: %s", kind, name, reason)
		}
		return ""
	})
}

// readiness is what an object says of itself for the spec that is there now.
func readiness(object *unstructured.Unstructured) (status, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(fields); c["type"] == v1alpha1.ConditionReady && c["observedGeneration"] == object.GetGeneration() {
			return fmt.Sprint(c["status"]), fmt.Sprint(c["reason"]), fmt.Sprint(c["message"])
		}
	}
	return "", "", ""
}

// beside shows the neighbours: the version of each of their objects, and what is
// theirs on the server.
func (w *world) beside(ctx context.Context) (string, error) {
	out := fields{}
	for _, gvk := range looked {
		for _, namespace := range []string{w.platform, w.tenant} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
			if err := seen.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return "", fmt.Errorf("list %s: %w", gvk.Kind, err)
			}
			for i := range list.Items {
				o := &list.Items[i]
				owner := o.GetName()
				if refs := o.GetOwnerReferences(); len(refs) > 0 {
					owner = refs[0].Name
				}
				if slices.Contains(neighbours, owner) || o.GetName() == "foreign" {
					out[gvk.Kind+" "+o.GetName()] = o.GetResourceVersion()
				}
			}
		}
	}
	maps.Copy(out, w.theirs())
	return canonical(out), nil
}

// theirs is what the neighbours, and strangers, have on the server.
func (w *world) theirs() fields {
	out, all := fields{}, w.remote()
	for _, name := range []string{"team Neighbour", "team Strangers"} {
		out[name] = all[name]
	}
	platform, _ := all["team Platform"].(fields)
	for name, one := range platform {
		if strings.HasSuffix(name, " held") {
			out[name] = one
		}
	}
	return out
}

// calm waits until the object under test has not changed for a while.
func (w *world) calm(ctx context.Context) error {
	version, since := "", time.Now()
	object := w.object(fields{})
	return until(ctx, func() string {
		if err := seen.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err.Error()
		}
		if now := object.GetResourceVersion(); now != version {
			version, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return "it still changes"
		}
		return ""
	})
}

// quiet is how long nothing has to change until it counts as at rest. The first
// tries of a pause that grows lie within it.
const quiet = time.Second
