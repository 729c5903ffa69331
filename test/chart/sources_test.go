package chart_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/charts"
	"git.ryuvia.com/niklas/terdut-operator/config/crd"
)

const config = "../../config"

// TestCopies compares what the chart shares with config/: it is copied, since
// Helm reads nothing outside of a chart.
func TestCopies(t *testing.T) {
	copies := map[string]string{}
	for _, directory := range []struct{ from, to, pattern string }{{"crd", "crds", "terdut.*.yaml"}, {"rbac", "rbac", "*role.yaml"}} {
		paths, err := filepath.Glob(filepath.Join(config, directory.from, directory.pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("nothing in config/%s: %v", directory.from, err)
		}
		for _, path := range paths {
			copies[filepath.Join(chart, directory.to, filepath.Base(path))] = path
		}
	}
	copies[filepath.Join(chart, "rbac", "namespaced_role.yaml")] = filepath.Join(config, "namespaced", "watched", "role.yaml")

	g := NewWithT(t)
	for is, from := range copies {
		got, err := os.ReadFile(is)
		g.Expect(err).NotTo(HaveOccurred())
		want, err := os.ReadFile(from)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(got)).To(Equal(string(want)), "%s is no copy of %s: run make chart", is, from)
	}
	for _, directory := range []string{"crds", "rbac"} {
		paths, err := filepath.Glob(filepath.Join(chart, directory, "*"))
		g.Expect(err).NotTo(HaveOccurred())
		for _, path := range paths {
			g.Expect(copies).To(HaveKey(path), "%s has no original in config/: run make chart", path)
		}
	}
}

// TestVersion finds the version of the release wherever it has to stand.
func TestVersion(t *testing.T) {
	g := NewWithT(t)
	raw, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var c struct {
		Version, AppVersion string
		Annotations         map[string]string
	}
	g.Expect(yaml.Unmarshal(raw, &c)).To(Succeed())
	g.Expect(charts.Version()).To(Equal("v"+c.Version), "appVersion is version with a v")
	g.Expect(c.Annotations["artifacthub.io/images"]).To(ContainSubstring("terdut-operator:" + c.AppVersion + "\n"))

	manager, err := os.ReadFile(filepath.Join(config, "manager", "kustomization.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(manager)).To(ContainSubstring("newTag: " + c.AppVersion + "\n"))

	definitions, err := crd.All()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(definitions).To(HaveLen(5))
	var listed []struct{ Name string }
	g.Expect(yaml.Unmarshal([]byte(c.Annotations["artifacthub.io/crds"]), &listed)).To(Succeed())
	var names, want []string
	for _, one := range listed {
		names = append(names, one.Name)
	}
	for _, definition := range definitions {
		want = append(want, definition.GetName())
		g.Expect(definition.GetAnnotations()).To(HaveKeyWithValue(crd.VersionAnnotation, c.AppVersion),
			"the marker of %s in api/ names another version than Chart.yaml", definition.GetName())
	}
	g.Expect(names).To(ConsistOf(want))
	role, err := os.ReadFile(filepath.Join(config, "rbac", "crds_role.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	var rights struct {
		Rules []struct{ ResourceNames []string }
	}
	g.Expect(yaml.Unmarshal(role, &rights)).To(Succeed())
	g.Expect(rights.Rules).To(HaveLen(1))
	g.Expect(rights.Rules[0].ResourceNames).To(ConsistOf(want))
}

// TestReadme compares the table of values with values.yaml.
func TestReadme(t *testing.T) {
	g := NewWithT(t)
	values, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(chart, "README.md")
	readme, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())

	const begin, end = "<!-- values -->\n", "<!-- end of values -->"
	before, rest, _ := strings.Cut(string(readme), begin)
	_, after, found := strings.Cut(rest, end)
	g.Expect(found).To(BeTrue(), "README.md has no place for the values")
	want := before + begin + table(t, string(values)) + end + after
	if *update {
		g.Expect(os.WriteFile(path, []byte(want), 0o644)).To(Succeed())
		return
	}
	g.Expect(string(readme)).To(Equal(want), "run this test with -update")
}

var (
	keyLine     = regexp.MustCompile(`^( *)([A-Za-z]+):(.*)$`)
	commentLine = regexp.MustCompile(`^ *# ?(.*)$`)
)

// table describes each value that has a comment "# --", with its default. A
// value without one, and not above others, is an error.
func table(t *testing.T, values string) string {
	t.Helper()
	var defaults any
	if err := yaml.UnmarshalStrict([]byte(values), &defaults); err != nil {
		t.Fatal(err)
	}
	out := "| Value | Default | |\n|---|---|---|\n"
	var path, comment []string
	described := -1 // the indentation of a value whose parts need no words of their own
	for line := range strings.SplitSeq(values, "\n") {
		if words := commentLine.FindStringSubmatch(line); words != nil {
			comment = append(comment, words[1])
			continue
		}
		key := keyLine.FindStringSubmatch(line)
		if key == nil {
			comment = nil
			continue
		}
		depth := len(key[1]) / 2
		path = append(path[:depth], key[2])
		text := strings.Join(comment, " ")
		comment = nil
		switch {
		case strings.HasPrefix(text, "-- "):
			described = depth
			out += fmt.Sprintf("| `%s` | %s | %s |\n", strings.Join(path, "."), shown(t, defaults, path), strings.TrimPrefix(text, "-- "))
		case described >= 0 && depth > described:
		case strings.TrimSpace(key[3]) != "":
			t.Errorf("values.yaml says nothing about %s: begin a comment above it with \"# --\"", strings.Join(path, "."))
		default:
			described = -1
		}
	}
	return out
}

// shown is the default at a path.
func shown(t *testing.T, defaults any, path []string) string {
	t.Helper()
	for _, key := range path {
		defaults = defaults.(map[string]any)[key]
	}
	if defaults == nil {
		return ""
	}
	raw, err := json.Marshal(defaults)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(raw); text != `""` {
		return "`" + text + "`"
	}
	return ""
}
