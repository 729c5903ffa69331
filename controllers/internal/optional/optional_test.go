package optional

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
)

var (
	monitors = schema.GroupVersionKind{Group: "late.test", Version: "v1", Kind: "Monitor"}
	rules    = schema.GroupVersionKind{Group: "late.test", Version: "v1", Kind: "Rule"}
	first    = types.NamespacedName{Namespace: "ns", Name: "first"}
	second   = types.NamespacedName{Namespace: "ns", Name: "second"}
)

// stub serves the kinds that it lists, or fails.
type stub struct {
	kinds []string
	err   error
	asked int
}

func (s *stub) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	s.asked++
	if s.err == nil && len(s.kinds) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, "late.test/v1")
	}
	list := &metav1.APIResourceList{}
	for _, kind := range s.kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
	}
	return list, s.err
}

// The steps follow each other on one Kinds.
func TestLookAround(t *testing.T) {
	discovery := &stub{}
	kinds := New(Options{Discovery: discovery, Cache: &informertest.FakeInformers{}})
	look := func(what string, asked int, wantMonitors, wantRules bool) {
		t.Helper()
		discovery.asked = 0
		kinds.lookAround(context.Background())
		if discovery.asked != asked {
			t.Errorf("%s: discovery was asked %d times, want %d", what, discovery.asked, asked)
		}
		if got := kinds.Served(monitors); got != wantMonitors {
			t.Errorf("%s: Monitor served = %t, want %t", what, got, wantMonitors)
		}
		if got := kinds.Served(rules); got != wantRules {
			t.Errorf("%s: Rule served = %t, want %t", what, got, wantRules)
		}
	}

	look("nobody wants any", 0, false, false)
	kinds.Want(first, monitors, rules)
	kinds.Want(second, monitors)
	look("absent", 1, false, false)
	discovery.kinds = []string{"Monitor"}
	look("one of two", 1, true, false)
	discovery.kinds = []string{"Monitor", "Rule"}
	look("both", 1, true, true)
	discovery.err = errors.New("the API server is away")
	look("nobody knows", 1, true, true)
	discovery.err = apierrors.NewServiceUnavailable("the group's server is away")
	look("it may be there", 1, true, true)
	discovery.err, discovery.kinds = nil, []string{"Rule"}
	look("one went", 1, false, true)
	kinds.Want(first, monitors)
	look("the other is no longer wanted", 1, false, false)
	kinds.Want(first)
	discovery.kinds = []string{"Monitor"}
	look("one still wants it", 1, true, false)
	kinds.Want(second)
	look("nobody wants any", 0, false, false)
}

func TestWantHurries(t *testing.T) {
	kinds := New(Options{Discovery: &stub{}, Cache: &informertest.FakeInformers{}})
	hurried := func() bool {
		select {
		case <-kinds.look:
			return true
		default:
			return false
		}
	}
	for _, step := range []struct {
		object types.NamespacedName
		kinds  []schema.GroupVersionKind
		want   bool
	}{
		{first, []schema.GroupVersionKind{monitors}, true},
		{first, []schema.GroupVersionKind{monitors}, false},
		{second, []schema.GroupVersionKind{monitors}, false},
		{second, []schema.GroupVersionKind{monitors, rules}, true},
		{second, nil, false},
	} {
		kinds.Want(step.object, step.kinds...)
		if got := hurried(); got != step.want {
			t.Errorf("%s wants %v: hurried = %t, want %t", step.object, step.kinds, got, step.want)
		}
	}
}
