package rbac

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// Right is one thing that may be done.
type Right struct {
	// Group is an API group, empty for the core one.
	Group string `json:"group"`
	// Resource is the plural name, with a subresource after a slash.
	Resource string `json:"resource"`
	Verb     string `json:"verb"`
}

// String is the right in one line, such as "apps/deployments: get".
func (r Right) String() string { return fmt.Sprintf("%s: %s", r.what(), r.Verb) }

// Parts are the plural name and the subresource, which is empty as a rule.
func (r Right) Parts() (resource, subresource string) {
	resource, subresource, _ = strings.Cut(r.Resource, "/")
	return resource, subresource
}

// what is the resource with its group.
func (r Right) what() string {
	if r.Group == "" {
		return "core/" + r.Resource
	}
	return r.Group + "/" + r.Resource
}

func compare(a, b Right) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
}

// Rights are the single rights of rules, in order and each once.
func Rights(rules []rbacv1.PolicyRule) []Right {
	var out []Right
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					out = append(out, Right{Group: group, Resource: resource, Verb: verb})
				}
			}
		}
	}
	slices.SortFunc(out, compare)
	return slices.Compact(out)
}

// Granted are the rights of the operator itself: of its role, of the one for the
// election of a leader, and of the one for its own definitions.
func Granted() ([]Right, error) {
	var rules []rbacv1.PolicyRule
	for _, file := range []string{"role.yaml", "leader_election_role.yaml", "crds_role.yaml"} {
		role, err := Manifest("rbac", file)
		if err != nil {
			return nil, err
		}
		rules = append(rules, role.Rules...)
	}
	return Rights(rules), nil
}

// Manifest reads a Role or a ClusterRole below config.
func Manifest(elements ...string) (*rbacv1.ClusterRole, error) {
	root, err := figures.Root()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(append([]string{root, "config"}, elements...)...)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a role: %w", err)
	}
	role := &rbacv1.ClusterRole{} // a Role has the same fields
	if err := yaml.UnmarshalStrict(content, role); err != nil {
		return nil, fmt.Errorf("read the role in %s: %w", path, err)
	}
	return role, nil
}
