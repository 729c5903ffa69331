package rbac

import (
	"fmt"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// Roles are the roles of Kubernetes for people. Kubernetes gives each what the
// ones before it have.
func Roles() []string { return []string{"view", "edit", "admin"} }

// People are the rights on our kinds that whoever has one of the Roles gets, by
// its name: what is below config/rbac says by labels which roles it is added to.
func People() (map[string][]Right, error) {
	root, err := figures.Root()
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(root, "config", "rbac", "*_role.yaml"))
	if err != nil {
		return nil, fmt.Errorf("find the roles: %w", err)
	}
	rules, out := map[string][]rbacv1.PolicyRule{}, map[string][]Right{}
	for _, path := range paths {
		role, err := Manifest("rbac", filepath.Base(path))
		if err != nil {
			return nil, err
		}
		for _, name := range Roles() {
			if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+name] == "true" {
				rules[name] = append(rules[name], role.Rules...)
			}
		}
	}
	var all []rbacv1.PolicyRule
	for _, name := range Roles() {
		all = append(all, rules[name]...)
		out[name] = Rights(all)
	}
	return out, nil
}
