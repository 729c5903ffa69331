// Package consent answers in one place what a TerdutServer lets others do: may a
// TerdutTeam of this namespace refer to it, and may it take over what is there?
// It is asked on every path, before any Secret is read and any call made.
package consent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// Evaluate tells whether TerdutTeams of a namespace may refer to the server.
// namespaceLabels are the labels of that Namespace; they count only where
// NeedsLabels is true. A server admits its own namespace always. What cannot
// be read as a consent is none.
func Evaluate(namespace string, server *v1alpha1.TerdutServer, namespaceLabels map[string]string) bool {
	if namespace == server.Namespace {
		return true
	}
	allowed := server.Spec.AllowedTeams.Namespaces
	switch allowed.From {
	case v1alpha1.FromAll:
		return true
	case v1alpha1.FromSelector:
		return matches(allowed.Selector, namespaceLabels)
	default: // None, Same, and whatever a later version may have written
		return false
	}
}

// MayAdopt tells whether TerdutTeams of a namespace may take over a team of that
// name which is on the server already and which nobody holds. It presumes that
// they may refer to the server at all.
func MayAdopt(namespace string, server *v1alpha1.TerdutServer, name string) bool {
	if namespace == server.Namespace {
		return true
	}
	return slices.ContainsFunc(server.Spec.AllowedTeams.Adopt, func(leave v1alpha1.AdoptionLeave) bool {
		return leave.Namespace == namespace && (len(leave.Names) == 0 || slices.Contains(leave.Names, name))
	})
}

// NeedsLabels tells whether Evaluate looks at the labels of the namespace.
func NeedsLabels(namespace string, server *v1alpha1.TerdutServer) bool {
	return namespace != server.Namespace && server.Spec.AllowedTeams.Namespaces.From == v1alpha1.FromSelector
}

// Bound names the namespaces besides its own that a server can admit, where its
// spec alone tells: bounded is false where any namespace may be among them.
func Bound(server *v1alpha1.TerdutServer) (names []string, bounded bool) {
	allowed := server.Spec.AllowedTeams.Namespaces
	switch {
	case allowed.From == v1alpha1.FromAll:
		return nil, false
	case allowed.From != v1alpha1.FromSelector, allowed.Selector == nil:
		return nil, true
	}
	if name, ok := allowed.Selector.MatchLabels[corev1.LabelMetadataName]; ok {
		return []string{name}, true
	}
	for _, e := range allowed.Selector.MatchExpressions {
		if e.Key == corev1.LabelMetadataName && e.Operator == metav1.LabelSelectorOpIn {
			return e.Values, true
		}
	}
	return nil, false
}

// Unreadable tells what is wrong with the selector of a server; nil when nothing
// is. The schema takes labels and operators that there are not, and such a selector
// admits nobody.
func Unreadable(server *v1alpha1.TerdutServer) error {
	allowed := server.Spec.AllowedTeams.Namespaces
	if allowed.From != v1alpha1.FromSelector {
		return nil
	}
	_, err := metav1.LabelSelectorAsSelector(allowed.Selector)
	return err
}

// matches is false for a missing selector: an empty one, which somebody has to
// write, matches everything, one that is not there matches nothing.
func matches(selector *metav1.LabelSelector, have map[string]string) bool {
	if selector == nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(have))
}
