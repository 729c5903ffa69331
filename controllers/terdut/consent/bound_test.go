package consent

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

func TestBound(t *testing.T) {
	names := func(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "other", Operator: metav1.LabelSelectorOpExists}, {Key: key, Operator: operator, Values: values},
		}}
	}
	for name, c := range map[string]struct {
		allowed v1alpha1.AllowedNamespaces
		want    []string
		bounded bool
	}{
		"nothing said":     {bounded: true},
		"None":             {allowed: v1alpha1.AllowedNamespaces{From: v1alpha1.FromNone}, bounded: true},
		"Same":             {allowed: v1alpha1.AllowedNamespaces{From: v1alpha1.FromSame}, bounded: true},
		"All":              {allowed: v1alpha1.AllowedNamespaces{From: v1alpha1.FromAll}},
		"missing selector": {allowed: v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector}, bounded: true},
		"empty selector":   {allowed: v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{}}},
		"by names": {
			allowed: v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: names(corev1.LabelMetadataName, metav1.LabelSelectorOpIn, "a", "b")},
			want:    []string{"a", "b"}, bounded: true,
		},
		"by one name": {
			allowed: v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"other": "x", corev1.LabelMetadataName: "a"},
			}},
			want: []string{"a"}, bounded: true,
		},
		"all but those": {
			allowed: v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: names(corev1.LabelMetadataName, metav1.LabelSelectorOpNotIn, "a")},
		},
		"by another label": {
			allowed: v1alpha1.AllowedNamespaces{From: v1alpha1.FromSelector, Selector: names("team", metav1.LabelSelectorOpIn, "a")},
		},
	} {
		server := &v1alpha1.TerdutServer{}
		server.Spec.AllowedTeams.Namespaces = c.allowed
		if got, bounded := Bound(server); !slices.Equal(got, c.want) || bounded != c.bounded {
			t.Errorf("%s: %v, %v", name, got, bounded)
		}
	}
}
