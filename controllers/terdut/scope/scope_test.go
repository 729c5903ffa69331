package scope

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestScope(t *testing.T) {
	whole, two := Of(), Of("b", "a", "b")
	if !whole.Whole() || !whole.Sees("x") || whole.Cached() != nil || whole.Unseen([]string{"x"}) != nil {
		t.Error("the empty scope is not the whole cluster")
	}
	if two.Whole() || !two.Sees("a") || two.Sees("x") || len(two.Cached()) != 2 {
		t.Errorf("a scope of two: %+v", two)
	}
	if got := two.Unseen([]string{"x", "a", "c"}); !slices.Equal(got, []string{"x", "c"}) {
		t.Errorf("unseen: %v", got)
	}
}

func TestParse(t *testing.T) {
	for list, want := range map[string][]string{"": nil, " ": nil, "a": {"a"}, "a, b": {"a", "b"}} {
		if got, err := Parse(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("Parse(%q) = %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"a,", ",", "A", "a/b", "*"} {
		if got, err := Parse(list); err == nil {
			t.Errorf("Parse(%q) = %v, and no error", list, got)
		}
	}
}

func TestLive(t *testing.T) {
	ctx := t.Context()
	builder := fake.NewClientBuilder()
	for _, namespace := range []string{"a", "b", "c"} {
		builder.WithObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s", Labels: map[string]string{"l": "1"}}})
	}
	live := Of("a", "b").Live(builder.Build())
	namespaces := func(opts ...client.ListOption) []string {
		list := &corev1.SecretList{}
		if err := live.List(ctx, list, opts...); err != nil {
			t.Fatal(err)
		}
		var out []string
		for i := range list.Items {
			out = append(out, list.Items[i].Namespace)
		}
		return out
	}
	if got := namespaces(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("all that is watched: %v", got)
	}
	if got := namespaces(client.InNamespace("b")); !slices.Equal(got, []string{"b"}) {
		t.Errorf("one namespace: %v", got)
	}
	if got := namespaces(client.MatchingLabels{"l": "2"}); len(got) != 0 {
		t.Errorf("no match: %v", got)
	}
	if err := live.List(ctx, &corev1.SecretList{}, client.Limit(1)); err == nil {
		t.Error("a limit is taken for a list of several namespaces")
	}
}
