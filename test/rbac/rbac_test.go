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
	path := filepath.Join("testdata", "rules.golden")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the operator's rights have changed; if they should, run the test with -update.\ngot:\n%s\nwant:\n%s", got.String(), want)
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
		"role.yaml", "leader_election_role.yaml", "crds_role.yaml", "tenant_role.yaml", "owner_role.yaml",
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

// TestPeople holds the roles that are aggregated into those of people.
func TestPeople(t *testing.T) {
	people(t, "tenant_role.yaml", []string{"admin", "edit"},
		"terdutteams", "terdutescalationrules", "terdutdeadmanswitches", "terdutalertsources")
	people(t, "owner_role.yaml", []string{"admin"}, "terdutservers")
}

// people wants a role to grant the resources whole and nothing else, no Secret,
// status or finalizer among it, and to be added to the roles.
func people(t *testing.T, file string, roles []string, resources ...string) {
	t.Helper()
	var want []rbac.Right
	for _, resource := range resources {
		for _, verb := range []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"} {
			want = append(want, rbac.Right{Group: "terdut.ryuvia.com", Resource: resource, Verb: verb})
		}
	}
	got := rights(t, "rbac", file)
	for _, r := range got {
		if !slices.Contains(want, r) {
			t.Errorf("%s grants %s", file, r)
		}
	}
	for _, r := range want {
		if !slices.Contains(got, r) {
			t.Errorf("%s does not grant %s", file, r)
		}
	}
	role, err := rbac.Manifest("rbac", file)
	if err != nil {
		t.Fatal(err)
	}
	var added []string
	for label, value := range role.Labels {
		if name, ok := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-"); ok && value == "true" {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	if !slices.Equal(added, roles) {
		t.Errorf("%s is added to %v, want %v", file, added, roles)
	}
}
