package consent

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

func TestEvaluate(t *testing.T) {
	selector := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	labels := map[string]string{"oncall": "yes"}

	for _, c := range []struct {
		name      string
		namespace string
		from      v1alpha1.FromNamespaces
		selector  *metav1.LabelSelector
		want      bool
	}{
		{"own namespace, None", "server", v1alpha1.FromNone, nil, true},
		{"own namespace, selector that does not match", "server", v1alpha1.FromSelector, selector("oncall", "no"), true},
		{"other namespace, None", "team", v1alpha1.FromNone, nil, false},
		{"other namespace, nothing said", "team", "", nil, false},
		{"other namespace, Same", "team", v1alpha1.FromSame, nil, false},
		{"other namespace, All", "team", v1alpha1.FromAll, nil, true},
		{"other namespace, matching", "team", v1alpha1.FromSelector, selector("oncall", "yes"), true},
		{"other namespace, not matching", "team", v1alpha1.FromSelector, selector("oncall", "no"), false},
		{"other namespace, empty selector", "team", v1alpha1.FromSelector, &metav1.LabelSelector{}, true},
		{"other namespace, no selector", "team", v1alpha1.FromSelector, nil, false},
		{"other namespace, unreadable selector", "team", v1alpha1.FromSelector, broken, false},
		{"other namespace, unknown word", "team", "Everybody", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "server", Name: "terdut"}}
			server.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{From: c.from, Selector: c.selector}
			if got := Evaluate(c.namespace, server, labels); got != c.want {
				t.Errorf("Evaluate = %v, want %v", got, c.want)
			}
		})
	}
}

func TestMayAdopt(t *testing.T) {
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform"}}
	server.Spec.AllowedTeams.Adopt = []v1alpha1.AdoptionLeave{{Namespace: "some", Names: []string{"One"}}, {Namespace: "any"}}
	for _, c := range []struct {
		namespace, name string
		want            bool
	}{
		{"platform", "One", true}, {"some", "One", true}, {"some", "one", false}, {"some", "Two", false},
		{"any", "Two", true}, {"other", "One", false}, {"", "One", false},
	} {
		if got := MayAdopt(c.namespace, server, c.name); got != c.want {
			t.Errorf("%q, %q: %t", c.namespace, c.name, got)
		}
	}
}
