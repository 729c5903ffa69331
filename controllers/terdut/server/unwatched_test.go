package server

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/scope"
)

// withConsent is a server that has copied its key to some namespaces.
func withConsent(from v1alpha1.FromNamespaces, mirrors ...string) *v1alpha1.TerdutServer {
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut"}}
	server.Spec.AllowedTeams.Namespaces = v1alpha1.AllowedNamespaces{From: from, Selector: &metav1.LabelSelector{}}
	server.Status.Credentials = &v1alpha1.ServerCredentialsStatus{MirrorNamespaces: mirrors}
	return server
}

func TestUnwatched(t *testing.T) {
	server := withConsent(v1alpha1.FromAll, "a", "b", "c")
	whole := (&Reconciler{}).unwatched(server)
	if whole.Mirrors != nil || whole.Open || whole.parts() != nil {
		t.Errorf("the whole cluster is watched, and yet: %+v", whole)
	}
	some := (&Reconciler{Scope: scope.Of("platform", "b")}).unwatched(server)
	if !slices.Equal(some.Mirrors, []string{"a", "c"}) || !some.Open || len(some.parts()) != 1 {
		t.Errorf("some namespaces are watched: %+v", some)
	}
}

// A namespace whose labels may not be read holds up no server.
func TestForbiddenLabels(t *testing.T) {
	forbidden := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return apierrors.NewForbidden(corev1.Resource("namespaces"), key.Name, nil)
		},
	}).Build()
	r := &Reconciler{Live: forbidden, Client: forbidden, Scope: scope.Of("platform", "had", "new")}
	for _, c := range []struct {
		from      v1alpha1.FromNamespaces
		namespace string
		want      bool
	}{
		{v1alpha1.FromSelector, "had", true},
		{v1alpha1.FromSelector, "new", false},
		{v1alpha1.FromNone, "had", false},
		{v1alpha1.FromAll, "new", true},
	} {
		if got, err := r.wantsMirror(t.Context(), r.Client, withConsent(c.from, "had"), c.namespace); err != nil || got != c.want {
			t.Errorf("%s, namespace %q: %v, %v", c.from, c.namespace, got, err)
		}
	}
	r.Scope = scope.Of()
	if _, err := r.wantsMirror(t.Context(), r.Client, withConsent(v1alpha1.FromSelector, "had"), "had"); err == nil {
		t.Error("where the whole cluster is watched, the right to read Namespaces is missing without an error")
	}
}
