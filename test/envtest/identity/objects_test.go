package identity_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

const (
	name            = "terdut"
	credentialsName = name + "-operator-credentials"
	nextName        = credentialsName + "-next"
)

// create makes the TerdutServer of a world, with a database that needs nothing.
func (w *world) create(ctx context.Context, change ...func(*v1alpha1.TerdutServer)) *v1alpha1.TerdutServer {
	GinkgoHelper()
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	server.Spec.Database.DSN = "postgres://terdut@db:5432/terdut?sslmode=require"
	for _, f := range change {
		f(server)
	}
	Expect(admin.Create(ctx, server)).To(Succeed())
	return server
}

// change updates an object as somebody else would, and tries again when
// somebody was faster.
func change[T client.Object](ctx context.Context, w *world, object T, of string, f func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: of}, object); err != nil {
			return err
		}
		f(object)
		return admin.Update(ctx, object, client.FieldOwner("kubectl-edit"))
	}).Should(Succeed())
}

func (w *world) secret(ctx context.Context, of string, data map[string]string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: of}, StringData: data,
	})).To(Succeed())
}

// get reads an object; it is an error if there is none.
func get[T client.Object](ctx context.Context, w *world, object T, of string) T {
	GinkgoHelper()
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: of}, object)).To(Succeed())
	return object
}

func (w *world) server(ctx context.Context) *v1alpha1.TerdutServer {
	GinkgoHelper()
	return get(ctx, w, &v1alpha1.TerdutServer{}, name)
}

// conditionOf is "status reason" of a condition.
func (w *world) conditionOf(ctx context.Context, of string) func() string {
	return func() string {
		server := &v1alpha1.TerdutServer{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, server); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(server.Status.Conditions, of)
		if c == nil {
			return "absent"
		}
		return string(c.Status) + " " + c.Reason
	}
}

func (w *world) message(ctx context.Context, of string) string {
	GinkgoHelper()
	c := meta.FindStatusCondition(w.server(ctx).Status.Conditions, of)
	Expect(c).NotTo(BeNil())
	return c.Message
}

// run plays the kubelet: all pods of the Deployment are ready, or none.
func (w *world) run(ctx context.Context, ready bool) {
	GinkgoHelper()
	Eventually(func() error {
		d := &appsv1.Deployment{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, d); err != nil {
			return err
		}
		pods := ptr.Deref(d.Spec.Replicas, 1)
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: pods, UpdatedReplicas: pods}
		if ready {
			d.Status.ReadyReplicas, d.Status.AvailableReplicas = pods, pods
		}
		return admin.Status().Update(ctx, d)
	}).Should(Succeed())
}

// settle makes a server that is bootstrapped and Ready.
func (w *world) settle(ctx context.Context, change ...func(*v1alpha1.TerdutServer)) {
	GinkgoHelper()
	w.create(ctx, change...)
	w.run(ctx, true)
	w.ready(ctx)
}

func (w *world) ready(ctx context.Context) {
	GinkgoHelper()
	Eventually(w.conditionOf(ctx, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
}

// key is what the credentials Secret holds.
func (w *world) key(ctx context.Context) string {
	GinkgoHelper()
	return string(get(ctx, w, &corev1.Secret{}, credentialsName).Data[v1alpha1.CredentialsKey])
}

// events are "type reason: note" of all Events about the server.
func (w *world) events(ctx context.Context) func() []string {
	return func() []string {
		list := &eventsv1.EventList{}
		if err := admin.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return []string{err.Error()}
		}
		var out []string
		for _, e := range list.Items {
			out = append(out, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Note))
		}
		return out
	}
}

// gone tells whether an object is not there.
func gone(ctx context.Context, w *world, object client.Object, of string) func() bool {
	return func() bool {
		return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: of}, object))
	}
}

// requests counts those that the reference server saw of a method and path.
func (w *world) requests(method, path string) int {
	count := 0
	for _, request := range w.remote.Requests() {
		if request.Method == method && request.Path == path {
			count++
		}
	}
	return count
}
