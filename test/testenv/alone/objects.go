package alone

import (
	"context"
	"fmt"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
)

// Name is that of the TerdutServer of a World.
const Name = sample.ServerName

// Create makes the TerdutServer of a world, with a database that needs nothing.
func (w *World) Create(ctx context.Context, change ...func(*v1alpha1.TerdutServer)) *v1alpha1.TerdutServer {
	ginkgo.GinkgoHelper()
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: Name}}
	server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut?sslmode=require"
	for _, f := range change {
		f(server)
	}
	w.env.Create(ctx, server)
	return server
}

// Change updates an object as somebody else would, and tries again when
// somebody was faster.
func Change[T client.Object](ctx context.Context, w *World, object T, of string, f func(T)) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() error {
		if err := w.read(ctx, object, of); err != nil {
			return err
		}
		f(object)
		return w.env.Admin.Update(ctx, object, client.FieldOwner("kubectl-edit"))
	}).Should(gomega.Succeed())
}

// Secret makes a Secret.
func (w *World) Secret(ctx context.Context, of string, data map[string]string) {
	ginkgo.GinkgoHelper()
	w.env.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: of}, StringData: data})
}

// Get reads an object that is there.
func Get[T client.Object](ctx context.Context, w *World, object T, of string) T {
	ginkgo.GinkgoHelper()
	gomega.Expect(w.read(ctx, object, of)).To(gomega.Succeed())
	return object
}

func (w *World) read(ctx context.Context, object client.Object, of string) error {
	return w.env.Admin.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: of}, object)
}

// Server is the TerdutServer as it is now.
func (w *World) Server(ctx context.Context) *v1alpha1.TerdutServer {
	ginkgo.GinkgoHelper()
	return Get(ctx, w, &v1alpha1.TerdutServer{}, Name)
}

// ConditionOf reads a condition as "status reason"; "absent" where it is not.
func (w *World) ConditionOf(ctx context.Context, of string) func() string {
	return func() string {
		server := &v1alpha1.TerdutServer{}
		if err := w.read(ctx, server, Name); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(server.Status.Conditions, of)
		if c == nil {
			return "absent"
		}
		return string(c.Status) + " " + c.Reason
	}
}

// Message is what a condition that is there says.
func (w *World) Message(ctx context.Context, of string) string {
	ginkgo.GinkgoHelper()
	c := meta.FindStatusCondition(w.Server(ctx).Status.Conditions, of)
	gomega.Expect(c).NotTo(gomega.BeNil())
	return c.Message
}

// RollOut plays the kubelet: all pods of the Deployment are ready, or none.
func (w *World) RollOut(ctx context.Context, ready bool) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() error {
		d := &appsv1.Deployment{}
		if err := w.read(ctx, d, Name); err != nil {
			return err
		}
		pods := ptr.Deref(d.Spec.Replicas, 1)
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: pods, UpdatedReplicas: pods}
		if ready {
			d.Status.ReadyReplicas, d.Status.AvailableReplicas = pods, pods
		}
		return w.env.Admin.Status().Update(ctx, d)
	}).Should(gomega.Succeed())
}

// Settle makes a server and waits until it is bootstrapped and Ready.
func (w *World) Settle(ctx context.Context, change ...func(*v1alpha1.TerdutServer)) {
	ginkgo.GinkgoHelper()
	w.Create(ctx, change...)
	w.RollOut(ctx, true)
	w.Ready(ctx)
}

// Ready waits until the server is.
func (w *World) Ready(ctx context.Context) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(w.ConditionOf(ctx, v1alpha1.ConditionReady)).Should(gomega.Equal("True Ready"))
}

// Key is what the credentials Secret holds.
func (w *World) Key(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	return string(Get(ctx, w, &corev1.Secret{}, v1alpha1.CredentialsSecretName(Name)).Data[v1alpha1.CredentialsKey])
}

// Events are "type reason: note" of the Events about the server.
func (w *World) Events(ctx context.Context) func() []string {
	return func() []string {
		list := &eventsv1.EventList{}
		if err := w.env.Admin.List(ctx, list, client.InNamespace(w.Namespace)); err != nil {
			return []string{err.Error()}
		}
		var out []string
		for _, e := range list.Items {
			if e.Regarding.Kind == "TerdutServer" {
				out = append(out, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Note))
			}
		}
		return out
	}
}

// Gone tells whether an object is not there.
func (w *World) Gone(ctx context.Context, object client.Object, of string) func() bool {
	return func() bool { return apierrors.IsNotFound(w.read(ctx, object, of)) }
}

// Requests counts those that the reference server saw of a method and path.
func (w *World) Requests(method, path string) int {
	count := 0
	for _, request := range w.Remote.Requests() {
		if request.Method == method && request.Path == path {
			count++
		}
	}
	return count
}
