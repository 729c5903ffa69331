package database_test

import (
	"context"
	"fmt"
	"os"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// name of the one TerdutServer of a world.
const name = "terdut"

// world is a namespace.
type world struct{ namespace string }

func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	return &world{namespace: env.NewNamespace(ctx, "database", nil)}
}

// create makes the TerdutServer, which goes with the spec.
func (w *world) create(ctx context.Context, image string, database v1alpha1.ServerDatabase) {
	GinkgoHelper()
	server := &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	server.Spec.Image = &v1alpha1.ServerImage{Repository: image}
	server.Spec.Database = database
	Expect(env.Admin.Create(ctx, server)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(env.Admin.Delete(ctx, server))).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(env.Admin.Get(ctx, client.ObjectKeyFromObject(server), &v1alpha1.TerdutServer{}))
		}).Should(BeTrue())
	})
}

func (w *world) secret(ctx context.Context, of string, data map[string]string) {
	GinkgoHelper()
	Expect(env.Admin.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: of}, StringData: data})).To(Succeed())
}

// change updates an object as somebody else would, and tries again when
// somebody was faster.
func change[T client.Object](ctx context.Context, w *world, object T, of string, f func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: of}, object); err != nil {
			return err
		}
		f(object)
		return env.Admin.Update(ctx, object, client.FieldOwner("kubectl-edit"))
	}).Should(Succeed())
}

func (w *world) password(ctx context.Context, secret, to string) {
	GinkgoHelper()
	change(ctx, w, &corev1.Secret{}, secret, func(s *corev1.Secret) {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data["password"] = []byte(to)
	})
}

func get[T client.Object](ctx context.Context, w *world, object T, of string) T {
	GinkgoHelper()
	Expect(env.Admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: of}, object)).To(Succeed())
	return object
}

func (w *world) condition(ctx context.Context, of string) *metav1.Condition {
	server := &v1alpha1.TerdutServer{}
	if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, server); err != nil {
		return &metav1.Condition{Message: err.Error()}
	}
	if c := meta.FindStatusCondition(server.Status.Conditions, of); c != nil {
		return c
	}
	return &metav1.Condition{Message: "absent"}
}

// ready is "status reason: message" of DatabaseReady.
func (w *world) ready(ctx context.Context) func() string {
	return func() string {
		c := w.condition(ctx, v1alpha1.ConditionDatabaseReady)
		return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
	}
}

// becomes waits for a state of DatabaseReady and words of its message.
func (w *world) becomes(ctx context.Context, state string, words ...string) {
	GinkgoHelper()
	matchers := HavePrefix(state + ": ")
	for _, word := range words {
		matchers = And(matchers, ContainSubstring(word))
	}
	Eventually(w.ready(ctx)).Should(matchers)
}

// settles waits until everything is as the spec asks.
func (w *world) settles(ctx context.Context) {
	GinkgoHelper()
	w.becomes(ctx, "True Connected")
	Eventually(func() string { return w.condition(ctx, v1alpha1.ConditionReady).Reason }).Should(Equal(v1alpha1.ReasonReady))
}

func (w *world) deployment(ctx context.Context) *appsv1.Deployment {
	GinkgoHelper()
	return get(ctx, w, &appsv1.Deployment{}, name)
}

// env is a variable of the Deployment.
func (w *world) env(ctx context.Context, variable string) *corev1.EnvVar {
	GinkgoHelper()
	env := w.deployment(ctx).Spec.Template.Spec.Containers[0].Env
	at := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == variable })
	Expect(at).NotTo(Equal(-1), variable)
	return &env[at]
}

// pods are those that are not going, as <name>/<restarts>.
func (w *world) pods(ctx context.Context) []string {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(env.Admin.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	var names []string
	for i := range list.Items {
		if pod := &list.Items[i]; pod.DeletionTimestamp == nil && len(pod.Status.ContainerStatuses) > 0 {
			names = append(names, fmt.Sprintf("%s/%d", pod.Name, pod.Status.ContainerStatuses[0].RestartCount))
		}
	}
	return names
}

// crashes waits until a container has failed more often than before.
func (w *world) crashes(ctx context.Context) {
	GinkgoHelper()
	before := w.pods(ctx)
	Eventually(func() []string { return w.pods(ctx) }).Should(And(Not(BeEmpty()), Not(Equal(before)), Not(ContainElement(HaveSuffix("/0")))))
}

// told are the Events about a change of the password, "type: note". One that
// happens twice counts twice.
func (w *world) told(ctx context.Context) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(env.Admin.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	var out []string
	for _, e := range list.Items {
		for range series(&e) {
			if e.Reason == v1alpha1.EventDatabasePasswordChanged {
				out = append(out, e.Type+": "+e.Note)
			}
		}
	}
	return out
}

func series(e *eventsv1.Event) int32 {
	if e.Series == nil {
		return 1
	}
	return e.Series.Count
}

// install serves a custom resource until the spec ends, or remove was called.
func install(ctx context.Context, path string) (remove func(context.Context)) {
	GinkgoHelper()
	raw, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	crd := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal(raw, crd)).To(Succeed())
	Expect(env.Admin.Create(ctx, crd)).To(Succeed())
	remove = func(ctx context.Context) {
		Expect(client.IgnoreNotFound(env.Admin.Delete(ctx, crd))).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(env.Admin.Get(ctx, client.ObjectKeyFromObject(crd), crd.DeepCopy()))
		}).Should(BeTrue())
	}
	DeferCleanup(func(ctx SpecContext) { remove(ctx) })
	return remove
}

// cluster is an object of a PostgreSQL operator, from YAML.
func (w *world) cluster(ctx context.Context, content string) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(content), object)).To(Succeed())
	object.SetNamespace(w.namespace)
	// A kind that has just come is not served by everybody at once.
	Eventually(func() error { return env.Admin.Create(ctx, object) }).Should(Succeed())
	return object
}

// report writes a status as that operator would.
func report(ctx context.Context, object *unstructured.Unstructured, status map[string]any) {
	GinkgoHelper()
	Eventually(func() error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		object.Object["status"] = status
		return env.Admin.Status().Update(ctx, object)
	}).Should(Succeed())
}
