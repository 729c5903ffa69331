package rbac_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
)

var update = flag.Bool("update", false, "write the golden file")

// TestGolden makes a change of the operator's rights one that a review sees.
func TestGolden(t *testing.T) {
	var got bytes.Buffer
	for _, file := range []string{
		"rbac/role.yaml", "rbac/leader_election_role.yaml", "rbac/crds_role.yaml", "namespaced/watched/role.yaml",
	} {
		fmt.Fprintf(&got, "# config/%s\n", file)
		for _, line := range lines(rights(t, strings.Split(file, "/")...)) {
			fmt.Fprintln(&got, line)
		}
	}
	golden(t, "rules.golden", got.Bytes())
}

// golden compares with a file, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the rights have changed; if they should, run the test with -update.\ngot:\n%s\nwant:\n%s", got, want)
	}
}

// lines are rights with all verbs of a resource in one line.
func lines(rights []rbac.Right) []string {
	var out []string
	for _, r := range rights {
		what, _, _ := strings.Cut(r.String(), ": ")
		if n := len(out) - 1; n >= 0 && strings.HasPrefix(out[n], what+": ") {
			out[n] += " " + r.Verb
			continue
		}
		out = append(out, r.String())
	}
	return out
}

func rights(t *testing.T, elements ...string) []rbac.Right {
	t.Helper()
	role, err := rbac.Manifest(elements...)
	if err != nil {
		t.Fatal(err)
	}
	return rbac.Rights(role.Rules)
}

func TestNothingIsGrantedByAsterisk(t *testing.T) {
	for _, file := range []string{
		"role.yaml", "leader_election_role.yaml", "crds_role.yaml", "tenant_role.yaml", "owner_role.yaml", "viewer_role.yaml",
	} {
		for _, r := range rights(t, "rbac", file) {
			if strings.Contains(r.String(), "*") {
				t.Errorf("%s grants %s", file, r)
			}
		}
	}
}

// TestNamespacedGrantsNoMore holds the Role of one namespace within the role of
// the whole cluster.
func TestNamespacedGrantsNoMore(t *testing.T) {
	whole := rights(t, "rbac", "role.yaml")
	for _, r := range rights(t, "namespaced", "watched", "role.yaml") {
		if !slices.Contains(whole, r) {
			t.Errorf("a watched namespace grants %s, the whole cluster does not", r)
		}
	}
}

// TestPeople makes a change of what people may do one that a review sees, and
// holds it within what is promised: viewers read, whoever writes writes our kinds
// and nothing else, and nobody writes a status or the finalizers of others.
func TestPeople(t *testing.T) {
	people, err := rbac.People()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, role := range rbac.Roles() {
		fmt.Fprintf(&got, "# %s\n", role)
		for _, line := range lines(people[role]) {
			fmt.Fprintln(&got, line)
		}
		for _, r := range people[role] {
			if !promised(role, r) {
				t.Errorf("%s may %s", role, r)
			}
		}
		for _, kind := range plurals(t) {
			if !slices.Contains(people[role], rbac.Right{Group: group, Resource: kind, Verb: "get"}) {
				t.Errorf("%s may not look at %s", role, kind)
			}
		}
	}
	golden(t, "people.golden", got.Bytes())
}

const group = "terdut.ryuvia.com"

// promised tells whether docs/install.md promises a right to a role.
func promised(role string, r rbac.Right) bool {
	if r.Group != group || strings.Contains(r.Resource, "/") {
		return false
	}
	switch {
	case slices.Contains([]string{"get", "list", "watch"}, r.Verb):
		return true
	case !slices.Contains([]string{"create", "delete", "deletecollection", "patch", "update"}, r.Verb):
		return false
	default:
		return role == "admin" || role == "edit" && r.Resource != "terdutservers"
	}
}

// plurals are the names of our kinds in rights, by their definitions.
func plurals(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "config", "crd", group+"_*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	var out []string
	for _, path := range paths {
		name, _ := strings.CutPrefix(strings.TrimSuffix(filepath.Base(path), ".yaml"), group+"_")
		out = append(out, name)
	}
	return out
}
