package alone

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

var marker = regexp.MustCompile(`(?m)^// \+kubebuilder:rbac:groups=([^,]*),resources=([^,]*),verbs=(.*)$`)

// Rules are the rights that the markers beside the controller ask for.
func Rules() ([]rbacv1.PolicyRule, error) {
	source, err := os.ReadFile(testenv.Path("controllers", "terdut", "server", "controller.go"))
	if err != nil {
		return nil, fmt.Errorf("read the markers of the controller: %w", err)
	}
	var rules []rbacv1.PolicyRule
	for _, match := range marker.FindAllStringSubmatch(string(source), -1) {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{strings.Trim(match[1], `"`)},
			Resources: strings.Split(match[2], ";"),
			Verbs:     strings.Split(match[3], ";"),
		})
	}
	// The indices of all kinds are added together, and an index is a watch.
	return append(rules, rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.SchemeGroupVersion.Group},
		Resources: []string{"terdutescalationrules", "terdutdeadmanswitches", "terdutalertsources"},
		Verbs:     []string{"get", "list", "watch"},
	}), nil
}
