package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// key is a path element that selects the list item with these fields.
func key(fields ...any) *value.FieldList { return fieldpath.KeyByFields(fields...) }

func TestDefaultYieldable(t *testing.T) {
	engine := testEngine()
	gvk := wanted(t, wantedDeployment).key.gvk()
	container := []any{"spec", "template", "spec", "containers", key("name", "server")}
	inContainer := func(parts ...any) fieldpath.Path {
		return fieldpath.MakePathOrDie(append(append([]any{}, container...), parts...)...)
	}
	for _, test := range []struct {
		path fieldpath.Path
		unit int
	}{
		{inContainer("readinessProbe", "httpGet", "path"), 6},
		{inContainer("livenessProbe"), 6},
		{inContainer("resources", "requests", "cpu"), 6},
		{fieldpath.MakePathOrDie("spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"), 5},
		{inContainer("image"), 0},
		{inContainer("ports", key("containerPort", 80, "protocol", "TCP"), "name"), 0},
		{inContainer("env", key("name", "resources"), "value"), 0},
		{fieldpath.MakePathOrDie("spec", "selector"), 0},
		{fieldpath.MakePathOrDie("spec", "replicas"), 0},
		{fieldpath.MakePathOrDie("spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/other"), 0},
	} {
		unit, yields := engine.unit(gvk, test.path)
		if yields != (test.unit > 0) || len(unit) != test.unit {
			t.Errorf("%s: unit %s of %d elements, want %d", test.path, unit, len(unit), test.unit)
		}
	}
	service := gvk
	service.Kind = "Service"
	if _, yields := engine.unit(service, inContainer("resources")); yields {
		t.Error("another kind has the fields of a Deployment")
	}
}

func TestRemoveAt(t *testing.T) {
	content := func() map[string]any {
		return map[string]any{
			"kind":  "K",
			"empty": map[string]any{},
			"items": []any{
				map[string]any{"name": "a", "probe": map[string]any{"get": map[string]any{"path": "/"}}},
				map[string]any{"name": "b"},
			},
			"ports": []any{map[string]any{"port": int64(80)}, map[string]any{"port": int64(80), "protocol": "UDP"}},
		}
	}
	for name, test := range map[string]struct {
		path fieldpath.Path
		want func(map[string]any)
	}{
		"a field, and its parents that are empty then": {
			fieldpath.MakePathOrDie("items", key("name", "a"), "probe", "get", "path"),
			func(c map[string]any) { c["items"] = []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}} },
		},
		"an item": {
			fieldpath.MakePathOrDie("items", key("name", "a")),
			func(c map[string]any) { c["items"] = []any{map[string]any{"name": "b"}} },
		},
		"an item whose key is partly a default": {
			fieldpath.MakePathOrDie("ports", key("port", int64(80), "protocol", "TCP")),
			func(c map[string]any) {
				c["ports"] = []any{map[string]any{"port": int64(80), "protocol": "UDP"}}
			},
		},
		"what does not exist":              {fieldpath.MakePathOrDie("items", key("name", "c"), "probe"), func(map[string]any) {}},
		"what is inside of a single field": {fieldpath.MakePathOrDie("kind", "x"), func(map[string]any) {}},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := content(), content()
			removeAt(got, test.path)
			test.want(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("removeAt(%s) (-want +got):\n%s", test.path, diff)
			}
			_, existed := valueAt(value.NewValueInterface(content()), test.path)
			if _, exists := valueAt(value.NewValueInterface(got), test.path); exists {
				t.Errorf("%s is still there", test.path)
			} else if changed := cmp.Diff(content(), got) != ""; changed != existed {
				t.Errorf("%s existed: %t, and was removed: %t", test.path, existed, changed)
			}
		})
	}
}

func TestBook(t *testing.T) {
	k := Key{Group: "apps", Version: "v1", Kind: "Deployment"}
	fields := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "replicas"))
	entries, err := testEngine().book([]metav1.ManagedFieldsEntry{
		entry(beforeFirstApply, metav1.ManagedFieldsOperationUpdate, 1, `{"f:spec":{"f:replicas":{},"f:paused":{}}}`),
		entry("scaler", metav1.ManagedFieldsOperationUpdate, 2, `{"f:spec":{"f:replicas":{}}}`),
		entry("emptied", metav1.ManagedFieldsOperationUpdate, 2, `{"f:spec":{"f:replicas":{}}}`),
		entry(FieldManager, metav1.ManagedFieldsOperationApply, 3, `{"f:spec":{"f:selector":{}}}`),
	}, k, fields, func(m managed) bool { return m.entry.Manager != "scaler" })
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i := range entries {
		got[entries[i].Manager] = string(entries[i].FieldsV1.GetRawBytes())
	}
	want := map[string]string{
		beforeFirstApply: `{"f:spec":{"f:paused":{}}}`,
		"scaler":         `{"f:spec":{"f:replicas":{}}}`,
		FieldManager:     `{"f:spec":{"f:replicas":{},"f:selector":{}}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("book (-want +got):\n%s", diff)
	}
}

// A release that Helm 3 made and Helm 4 upgraded has entries of both.
func TestInherit(t *testing.T) {
	k := Key{Group: "apps", Version: "v1", Kind: "Deployment"}
	old := entry("helm", metav1.ManagedFieldsOperationApply, 1, `{"f:spec":{"f:paused":{}}}`)
	old.APIVersion = "apps/v1beta1"
	status := entry("helm", metav1.ManagedFieldsOperationApply, 1, `{"f:status":{"f:replicas":{}}}`)
	status.Subresource = "status"
	rollout := entry("kubectl-rollout", metav1.ManagedFieldsOperationUpdate, 2, `{"f:spec":{"f:template":{}}}`)
	entries, err := testEngine().inheritApplied([]metav1.ManagedFieldsEntry{
		entry("helm", metav1.ManagedFieldsOperationApply, 1, `{"f:spec":{"f:replicas":{}}}`), old, status, rollout,
		entry(FieldManager, metav1.ManagedFieldsOperationApply, 3, `{"f:spec":{"f:selector":{}}}`),
	}, k, Helm())
	if err != nil {
		t.Fatal(err)
	}
	want := []metav1.ManagedFieldsEntry{
		status, rollout, entry(FieldManager, metav1.ManagedFieldsOperationApply, 3, `{"f:spec":{"f:replicas":{},"f:selector":{}}}`),
	}
	if len(entries) != len(want) {
		t.Fatalf("%d entries, want %d", len(entries), len(want))
	}
	for i := range want {
		got, raw := entries[i], string(entries[i].FieldsV1.GetRawBytes())
		if got.Manager != want[i].Manager || got.Subresource != want[i].Subresource || raw != string(want[i].FieldsV1.GetRawBytes()) {
			t.Errorf("entry %d is %s %q %s, want %s %q", i, got.Manager, got.Subresource, raw, want[i].Manager, want[i].Subresource)
		}
	}
	if err = testEngine().disown(&entries[2], fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "selector"))); err != nil {
		t.Fatal(err)
	}
	if raw := string(entries[2].FieldsV1.GetRawBytes()); raw != `{"f:spec":{"f:replicas":{}}}` {
		t.Errorf("after disowning: %s", raw)
	}
}

func TestHelmIsTold(t *testing.T) {
	helm := Helm()
	for manager, want := range map[string]bool{
		"helm": true, "helm-controller": true, "terraform-provider-helm_v2.9.0_x5": true,
		"kubectl-edit": false, "helmsman-injector": false, FieldManager: false, "": false,
	} {
		if got := helm.wrote(manager); got != want {
			t.Errorf("wrote(%q) = %t, want %t", manager, got, want)
		}
	}
	live := liveDeployment(t)
	live.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	live.Annotations = map[string]string{"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "ns"}
	if release, belongs := helm.release(live); !belongs || release != "ns/r" {
		t.Errorf("release = %q, %t, want ns/r", release, belongs)
	}
	delete(live.Annotations, "meta.helm.sh/release-namespace")
	if _, belongs := helm.release(live); belongs {
		t.Error("an object without the release's namespace belongs to a release")
	}
	if got := escape("a~b/c"); got != "a~0b~1c" {
		t.Errorf("escape = %q", got)
	}
}
