package server

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// onServer is an alert source that has something on a server.
func onServer(server *v1alpha1.TerdutServer, namespace, name string) *v1alpha1.TerdutAlertSource {
	s := &v1alpha1.TerdutAlertSource{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: "uid-of-" + server.UID, Finalizers: []string{v1alpha1.Finalizer},
	}}
	s.Status.Remote = &v1alpha1.RemoteIdentity{
		ServerNamespace: server.Namespace, ServerName: server.Name, ServerUID: server.UID, OwnerUID: s.UID, ID: 7,
	}
	return s
}

func leavingWorld(t *testing.T, objects ...client.Object) (r *Reconciler, asked *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	asked = new(int)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	live := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			*asked++
			return c.Get(ctx, key, o, opts...)
		},
	})
	return &Reconciler{Client: c, Live: live}, asked
}

// TestLeavingAsksOncePerNamespace: what lives on a server that is being deleted
// may be many, in few namespaces.
func TestLeavingAsksOncePerNamespace(t *testing.T) {
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut", UID: "this"}}
	other := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut", UID: "earlier"}}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "stays"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "goes", DeletionTimestamp: new(metav1.Now()), Finalizers: []string{"x/y"}}},
		onServer(other, "elsewhere", "alerts"),
	}
	for i := range 20 {
		name := fmt.Sprint("alerts-", i)
		objects = append(objects, onServer(server, "stays", name), onServer(server, "goes", name))
	}
	r, asked := leavingWorld(t, objects...)
	waits, err := r.leaving(t.Context(), r.Client, server)
	if err != nil || waits == nil {
		t.Fatalf("waits for nothing: %v", err)
	}
	if *asked != 2 {
		t.Errorf("asked %d times for two namespaces", *asked)
	}
}

// TestLeavingWakes: of what is let go learns the server that waits for it, and
// no other one.
func TestLeavingWakes(t *testing.T) {
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: "platform", Name: "terdut", UID: "this"}}
	source := onServer(server, "tenant", "alerts")
	for name, c := range map[string]struct {
		change func(*v1alpha1.TerdutServer)
		want   int
	}{
		"stays": {func(*v1alpha1.TerdutServer) {}, 0},
		"goes": {func(s *v1alpha1.TerdutServer) {
			s.DeletionTimestamp, s.Finalizers = new(metav1.Now()), []string{v1alpha1.Finalizer}
		}, 1},
	} {
		is := server.DeepCopy()
		c.change(is)
		r, _ := leavingWorld(t, is)
		if woken := r.deletedServerOf(t.Context(), source); len(woken) != c.want {
			t.Errorf("a server that %s: %v", name, woken)
		}
	}
	before := cleansOn(source)
	source.Finalizers = nil
	if before != server.UID || cleansOn(source) != "" {
		t.Error("who is let go has nothing to be cleaned up any more")
	}
}
