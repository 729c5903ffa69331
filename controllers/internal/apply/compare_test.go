package apply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
	"sigs.k8s.io/yaml"
)

const ownerUID = types.UID("11111111-0000-4000-8000-000000000000")

func testEngine() *Engine { return New(Options{Scheme: clientgoscheme.Scheme}) }

func testOwner() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "owner", UID: ownerUID}}
}

// rendered is an intent from YAML, as a caller would hand it over.
func rendered(t *testing.T, text string) runtime.ApplyConfiguration {
	t.Helper()
	content := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &content.Object); err != nil {
		t.Fatal(err)
	}
	return client.ApplyConfigurationFromUnstructured(content)
}

const wantedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: demo
  namespace: ns
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: owner, uid: 11111111-0000-4000-8000-000000000000, controller: true, blockOwnerDeletion: true}
spec:
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - name: server
        image: demo:1
        env:
        - {name: MODE, value: quiet}
`

// ownedByUs is what the API server writes for wantedDeployment.
const ownedByUs = `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"11111111-0000-4000-8000-000000000000\"}":{}}},
"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:containers":{
"k:{\"name\":\"server\"}":{".":{},"f:name":{},"f:image":{},"f:env":{"k:{\"name\":\"MODE\"}":{".":{},"f:name":{},"f:value":{}}}}}}}}}`

func entry(manager string, operation metav1.ManagedFieldsOperationType, second int64, fields string) metav1.ManagedFieldsEntry {
	at := metav1.Unix(second, 0)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "apps/v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func liveDeployment(t *testing.T, entries ...metav1.ManagedFieldsEntry) *appsv1.Deployment {
	t.Helper()
	live := &appsv1.Deployment{}
	if err := yaml.Unmarshal([]byte(wantedDeployment), live); err != nil {
		t.Fatal(err)
	}
	live.UID = "22222222-0000-4000-8000-000000000000"
	live.Spec.RevisionHistoryLimit = new(int32)
	live.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
	live.ManagedFields = entries
	return live
}

func wanted(t *testing.T, text string) *intent {
	t.Helper()
	want, err := testEngine().newIntent(testOwner(), rendered(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func compared(t *testing.T, live client.Object, want *intent) difference {
	t.Helper()
	diff, err := testEngine().compare(live, want)
	if err != nil {
		t.Fatal(err)
	}
	return diff
}

func TestCompareSame(t *testing.T) {
	live := liveDeployment(t, entry(FieldManager, metav1.ManagedFieldsOperationApply, 1, ownedByUs))
	if diff := compared(t, live, wanted(t, wantedDeployment)); !diff.same {
		t.Errorf("an untouched object differs in %v", diff.paths)
	}
}

// Entries of our name that are no applies to the object itself do not make fields ours.
func TestCompareWithoutOwnEntry(t *testing.T) {
	status := entry(FieldManager, metav1.ManagedFieldsOperationApply, 1, ownedByUs)
	status.Subresource = "status"
	live := liveDeployment(t, status, entry(FieldManager, metav1.ManagedFieldsOperationUpdate, 1, ownedByUs))
	diff := compared(t, live, wanted(t, wantedDeployment))
	if diff.same || len(diff.paths) == 0 {
		t.Errorf("same=%t paths=%v, want all paths of the intent", diff.same, diff.paths)
	}
}

func TestAttribute(t *testing.T) {
	lostImage := strings.Replace(ownedByUs, `"f:image":{},`, "", 1)
	lostEnv := strings.Replace(ownedByUs, `,"f:env":{"k:{\"name\":\"MODE\"}":{".":{},"f:name":{},"f:value":{}}}`, "", 1)
	image := `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"server\"}":{"f:image":{}}}}}}}`
	const imagePath = "spec.template.spec.containers[name=server].image"

	tests := map[string]struct {
		own    string
		others []metav1.ManagedFieldsEntry
		change func(*appsv1.Deployment)
		want   []FieldDrift
	}{
		"the manager that has the field": {
			own:    lostImage,
			others: []metav1.ManagedFieldsEntry{entry("kubectl-edit", metav1.ManagedFieldsOperationUpdate, 7, image)},
			change: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "evil:1" },
			want:   []FieldDrift{{Path: imagePath, Manager: "kubectl-edit", Operation: "Update", Time: metav1.Unix(7, 0)}},
		},
		"the latest of several": {
			own: lostImage,
			others: []metav1.ManagedFieldsEntry{
				entry("early", metav1.ManagedFieldsOperationApply, 3, image), entry("late", metav1.ManagedFieldsOperationApply, 9, image),
			},
			want: []FieldDrift{{Path: imagePath, Manager: "late", Operation: "Apply", Time: metav1.Unix(9, 0)}},
		},
		"nobody after a removal": {
			own:    lostEnv,
			others: []metav1.ManagedFieldsEntry{entry("kubectl-edit", metav1.ManagedFieldsOperationUpdate, 7, `{"f:metadata":{"f:labels":{"f:x":{}}}}`)},
			change: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env = nil },
			want:   []FieldDrift{{Path: "spec.template.spec.containers[name=server].env[name=MODE]"}},
		},
		"an unreadable entry is nobody": {
			own:    lostImage,
			others: []metav1.ManagedFieldsEntry{entry("broken", metav1.ManagedFieldsOperationUpdate, 7, `{"unknown":{}}`)},
			want:   []FieldDrift{{Path: imagePath}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live := liveDeployment(t, append(test.others, entry(FieldManager, metav1.ManagedFieldsOperationApply, 1, test.own))...)
			if test.change != nil {
				test.change(live)
			}
			got := attribute(compared(t, live, wanted(t, wantedDeployment)), live.ManagedFields)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("attribute (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAttributeConflicts(t *testing.T) {
	causes := []metav1.StatusCause{
		{
			Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "helm" using apps/v1 at 2026-01-01T00:00:00Z`,
			Field: ".metadata.annotations.example.com/x",
		},
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "gone"`, Field: `.spec.ports[port=80,protocol="TCP"].name`},
	}
	wanted := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", "example.com/x"))
	conflicts := attributeConflicts(causes, wanted, []metav1.ManagedFieldsEntry{
		entry("helm", metav1.ManagedFieldsOperationUpdate, 5, `{"f:metadata":{"f:annotations":{"f:example.com/x":{},"f:other":{}},"f:labels":{"f:a":{}}},"f:spec":{"f:b":{}}}`),
	})
	got := make([]FieldDrift, 0, len(conflicts))
	for _, c := range conflicts {
		got = append(got, c.field)
	}
	want := []FieldDrift{
		{Path: "metadata.annotations[example.com/x]", Manager: "helm", Operation: "Update", Time: metav1.Unix(5, 0)},
		{Path: "spec.ports[port=80,protocol=TCP].name", Manager: "gone"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributeConflicts (-want +got):\n%s", diff)
	}
}

func TestFormatPath(t *testing.T) {
	tests := map[string]fieldpath.Path{
		"spec.template.spec.containers[name=server].image": fieldpath.MakePathOrDie(
			"spec", "template", "spec", "containers", fieldpath.KeyByFields("name", "server"), "image"),
		"spec.ports[port=80,protocol=TCP].targetPort": fieldpath.MakePathOrDie(
			"spec", "ports", fieldpath.KeyByFields("port", 80, "protocol", "TCP"), "targetPort"),
		"metadata.annotations[helm.sh/resource-policy]": fieldpath.MakePathOrDie("metadata", "annotations", "helm.sh/resource-policy"),
		"metadata.finalizers[*]":                        fieldpath.MakePathOrDie("metadata", "finalizers", value.NewValueInterface("a.example/b")),
		"spec.list[3]":                                  fieldpath.MakePathOrDie("spec", "list", 3),
	}
	for want, path := range tests {
		if got := formatPath(path); got != want {
			t.Errorf("formatPath(%s) = %q, want %q", path, got, want)
		}
	}
}

func TestReadable(t *testing.T) {
	key := fieldpath.KeyByFields("name", "a")
	set := fieldpath.NewSet(
		fieldpath.MakePathOrDie("data"),
		fieldpath.MakePathOrDie("data", "x"),
		fieldpath.MakePathOrDie("data", "xy"),
		fieldpath.MakePathOrDie("env", key),
		fieldpath.MakePathOrDie("env", key, "name"),
		fieldpath.MakePathOrDie("env", key, "value"),
		fieldpath.MakePathOrDie("volume"),
	)
	var got []string
	for _, path := range readable(set) {
		got = append(got, formatPath(path))
	}
	if diff := cmp.Diff([]string{"data.x", "data.xy", "env[name=a]", "volume"}, got); diff != "" {
		t.Errorf("readable (-want +got):\n%s", diff)
	}
}

func TestExtractByPaths(t *testing.T) {
	var content any
	if err := yaml.Unmarshal([]byte(`
metadata: {labels: {ours: "1", theirs: "2"}, finalizers: [ours/f, theirs/f]}
spec: {whole: {a: 1, b: 2}, list: [1, 2], items: [{name: theirs, v: 1}, {name: ours, v: 2, w: 3}], other: 1}
`), &content); err != nil {
		t.Fatal(err)
	}
	set := fieldpath.NewSet()
	if err := set.FromJSON(strings.NewReader(`{"f:metadata":{"f:labels":{"f:ours":{}},"f:finalizers":{"v:\"ours/f\"":{}}},
		"f:spec":{"f:whole":{},"f:list":{},"f:items":{"k:{\"name\":\"ours\"}":{".":{},"f:name":{},"f:v":{}}}}}`)); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"ours": "1"}, "finalizers": []any{"ours/f"}},
		"spec": map[string]any{
			"whole": map[string]any{"a": float64(1), "b": float64(2)},
			"list":  []any{float64(1), float64(2)},
			"items": []any{map[string]any{"name": "ours", "v": float64(2)}},
		},
	}
	if diff := cmp.Diff(any(want), extractByPaths(content, set)); diff != "" {
		t.Errorf("extractByPaths (-want +got):\n%s", diff)
	}
}

func TestImmutable(t *testing.T) {
	live := liveDeployment(t, entry(FieldManager, metav1.ManagedFieldsOperationApply, 1, ownedByUs))
	want := wanted(t, wantedDeployment)
	if field, differs := immutable(compared(t, live, want), want); differs {
		t.Errorf("%s differs on an untouched object", field)
	}
	want = wanted(t, strings.ReplaceAll(wantedDeployment, "{a: b}", "{a: c}"))
	if field, differs := immutable(compared(t, live, want), want); !differs || field != "spec.selector" {
		t.Errorf("immutable = %q, %t, want spec.selector", field, differs)
	}
}

func BenchmarkCompareSame(b *testing.B) {
	t := &testing.T{}
	engine := testEngine()
	live := liveDeployment(t, entry(FieldManager, metav1.ManagedFieldsOperationApply, 1, ownedByUs))
	child := rendered(t, wantedDeployment)
	b.ReportAllocs()
	for b.Loop() {
		want, err := engine.newIntent(testOwner(), child)
		if err != nil {
			b.Fatal(err)
		}
		if diff, err := engine.compare(live, want); err != nil || !diff.same {
			b.Fatalf("same=%t err=%v", diff.same, err)
		}
	}
}
