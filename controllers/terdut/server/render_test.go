package server

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

// inputsOf reads a case: a TerdutServer, and a postgresql where it refers to
// one.
func inputsOf(t *testing.T, path string) Inputs {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, second, both := bytes.Cut(content, []byte("\n---\n"))
	server := &v1alpha1.TerdutServer{}
	if err = yaml.UnmarshalStrict(first, server); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	in := Inputs{Namespace: server.Namespace, Name: server.Name, UID: server.UID, Spec: server.Spec}
	wired, err := ownWiring(&server.Spec.Database)
	if both {
		cluster := &unstructured.Unstructured{}
		if err = yaml.Unmarshal(second, cluster); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		wired, err = clusterWiring(&server.Spec.Database, cluster)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	in.Database = wired.Database
	in.Route = listenerOf(&in.Spec) != nil
	if in.Database.Password != nil {
		in.Database.PasswordHMAC = passwordHMAC([]byte("a key"), []byte("a password"))
	}
	return in
}

func cases(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var inputs []string
	for _, path := range paths {
		if !strings.HasSuffix(path, ".golden.yaml") {
			inputs = append(inputs, path)
		}
	}
	return inputs
}

func TestRender(t *testing.T) {
	for _, path := range cases(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			in := inputsOf(t, path)
			var documents [][]byte
			for _, child := range Render(in) {
				document, err := yaml.Marshal(child)
				if err != nil {
					t.Fatal(err)
				}
				documents = append(documents, document)
			}
			got := bytes.Join(documents, []byte("---\n"))
			golden := strings.TrimSuffix(path, ".yaml") + ".golden.yaml"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("rendered otherwise than %s says (-want +got); run the test with -update if that is meant:\n%s", golden, diff)
			}
		})
	}
}

// An empty value would be stored without it, and an empty object belongs to
// nobody: both would differ from what is rendered for ever.
func TestRenderEmitsNoZeroValues(t *testing.T) {
	for _, path := range cases(t) {
		for _, child := range Render(inputsOf(t, path)) {
			raw, err := yaml.Marshal(child)
			if err != nil {
				t.Fatal(err)
			}
			var content map[string]any
			if err = yaml.Unmarshal(raw, &content); err != nil {
				t.Fatal(err)
			}
			walk(t, path, "", content)
		}
	}
}

// silent tells an object whose presence is all that it says, and one in a list
// of the affinity, which belongs as a whole to who applies it.
func silent(path string) bool {
	_, inAffinity, _ := strings.Cut(path, ".affinity.")
	return strings.Contains(inAffinity, "[]") || strings.HasSuffix(path, ".emptyDir") || strings.HasSuffix(path, ".namespaceSelector")
}

// keyed tells a string that may be empty: a map belongs to who applies it key
// by key, whatever the value.
func keyed(path string) bool {
	for _, part := range []string{".labels.", ".annotations.", ".nodeSelector.", ".backendRefs[].group"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

func walk(t *testing.T, file, path string, value any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 && !silent(path) {
			t.Errorf("%s: %s is an empty object", file, path)
		}
		for name, inner := range v {
			walk(t, file, path+"."+name, inner)
		}
	case []any:
		if len(v) == 0 {
			t.Errorf("%s: %s is an empty list", file, path)
		}
		for _, inner := range v {
			walk(t, file, path+"[]", inner)
		}
	case string:
		if v == "" && !keyed(path) {
			t.Errorf("%s: %s is empty", file, path)
		}
	case nil:
		t.Errorf("%s: %s is null", file, path)
	}
}

func TestRenderIsPure(t *testing.T) {
	for _, path := range cases(t) {
		in := inputsOf(t, path)
		before := *in.Spec.DeepCopy()
		first, second := Render(in), Render(in)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("%s: rendered twice and not the same", path)
		}
		if !reflect.DeepEqual(before, in.Spec) {
			t.Errorf("%s: the spec was changed", path)
		}
	}
}

// Each variable stands in the table once, and the case that sets everything
// has them all.
func TestEverySettingIsRendered(t *testing.T) {
	in := inputsOf(t, "testdata/everything.yaml")
	rendered := map[string]bool{}
	for _, env := range environment(&in) {
		rendered[*env.Name] = true
	}
	seen := map[string]bool{}
	for _, s := range settings {
		if seen[s.variable] {
			t.Errorf("%s stands twice in the table", s.variable)
		}
		seen[s.variable] = true
		if !rendered[s.variable] {
			t.Errorf("%s (%s) is not rendered by the case that sets everything", s.variable, s.field)
		}
	}
}
