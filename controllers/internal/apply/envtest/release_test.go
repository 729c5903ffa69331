package apply_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
)

// release is what Helm left in a namespace of a cluster in which Deployments have pods, and who is to take it over.
type release struct {
	*world
	plane *controlplane.ControlPlane
	admin client.Client
	// applied says that it was Helm 4, which applies. Helm 3 creates and patches.
	applied bool
}

// install makes the objects that a chart with the same children would have, and more labels.
func (r *release) install(ctx context.Context) {
	GinkgoHelper()
	for _, child := range r.children() {
		raw, err := json.Marshal(child)
		Expect(err).NotTo(HaveOccurred())
		object := &unstructured.Unstructured{}
		Expect(object.UnmarshalJSON(raw)).To(Succeed())
		object.SetOwnerReferences(nil)
		marks := map[string]string{"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "demo-1.0.0"}
		maps.Copy(marks, object.GetLabels())
		object.SetLabels(marks)
		object.SetAnnotations(map[string]string{
			"meta.helm.sh/release-name": "demo", "meta.helm.sh/release-namespace": object.GetNamespace(),
		})
		if r.applied {
			Expect(r.admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("helm"))).To(Succeed())
		} else {
			Expect(r.admin.Create(ctx, object, client.FieldOwner("helm"))).To(Succeed())
		}
	}
	Expect(r.admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.owner.Namespace, Name: "sh.helm.release.v1.demo.v1", Labels: map[string]string{"owner": "helm", "name": "demo"},
		},
		Type: "helm.sh/release.v1",
	})).To(Succeed())
	r.rolledOut(ctx)
}

func (r *release) get(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Expect(r.admin.Get(ctx, client.ObjectKey{Namespace: r.owner.Namespace, Name: "demo"}, object)).To(Succeed())
}

func (r *release) kubectl(ctx context.Context, args ...string) {
	GinkgoHelper()
	output, err := r.plane.Kubectl(ctx, append(args, "--namespace", r.owner.Namespace)...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
}

// rolledOut plays the kubelet until the Deployment has what it wants.
func (r *release) rolledOut(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(r.admin.List(ctx, pods, client.InNamespace(r.owner.Namespace))).To(Succeed())
		for i := range pods.Items {
			pod := &pods.Items[i]
			switch {
			case pod.DeletionTimestamp != nil:
				g.Expect(r.admin.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
			case pod.Status.Phase != corev1.PodRunning:
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{
					Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
				}}
				g.Expect(r.admin.Status().Update(ctx, pod)).To(Succeed())
			}
		}
		deployment := &appsv1.Deployment{}
		g.Expect(r.admin.Get(ctx, client.ObjectKey{Namespace: r.owner.Namespace, Name: "demo"}, deployment)).To(Succeed())
		g.Expect(deployment.Status).To(And(
			HaveField("ObservedGeneration", deployment.Generation), HaveField("Replicas", BeEquivalentTo(1)),
			HaveField("UpdatedReplicas", BeEquivalentTo(1)), HaveField("AvailableReplicas", BeEquivalentTo(1))))
		g.Expect(pods.Items).To(HaveLen(1))
	}).WithTimeout(patience).Should(Succeed())
}

// inventory returns the UIDs of what the release consists of, and of what runs for it.
func (r *release) inventory(ctx context.Context) (objects, rollouts []types.UID) {
	GinkgoHelper()
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.SecretList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}} {
		Expect(r.admin.List(ctx, list, client.InNamespace(r.owner.Namespace))).To(Succeed())
		items, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
		Expect(err).NotTo(HaveOccurred())
		found, _, err := unstructured.NestedSlice(items, "items")
		Expect(err).NotTo(HaveOccurred())
		for _, item := range found {
			uid, _, uidErr := unstructured.NestedString(item.(map[string]any), "metadata", "uid")
			Expect(uidErr).NotTo(HaveOccurred())
			switch list.(type) {
			case *appsv1.ReplicaSetList, *corev1.PodList:
				rollouts = append(rollouts, types.UID(uid))
			default:
				objects = append(objects, types.UID(uid))
			}
		}
	}
	return objects, rollouts
}

// missing counts what is in one list and not in the other.
func missing(of, in []types.UID) int {
	return len(slices.DeleteFunc(slices.Clone(of), func(uid types.UID) bool { return slices.Contains(in, uid) }))
}

// ask asks the engine to take over, and again as long as it is to look again: the controllers write to the same objects.
func (r *release) ask(ctx context.Context) (taken []apply.TakenOver, err error) {
	for {
		var more []apply.TakenOver
		more, err = r.engine.TakeOver(ctx, r.owner, r.children(), apply.Helm())
		taken = append(taken, more...)
		if !apply.IsLookAgain(err) {
			return taken, err
		}
	}
}

// takeOver takes the release over, converges, deletes Helm's memory of it and counts the damage.
func (r *release) takeOver(ctx context.Context) []apply.TakenOver {
	GinkgoHelper()
	objects, rollouts := r.inventory(ctx)
	taken, err := r.ask(ctx)
	Expect(err).NotTo(HaveOccurred())
	report, err := r.pass(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(report.Changes).To(BeEmpty())
	Expect(r.records).To(And(HaveLen(3), HaveEach(HaveField("UID", Not(BeEmpty())))))

	Expect(r.admin.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(r.owner.Namespace),
		client.MatchingLabels{"owner": "helm"})).To(Succeed())
	r.rolledOut(ctx)
	objectsAfter, rolloutsAfter := r.inventory(ctx)
	// The memory of the release is the one thing that is meant to go.
	takeoverDeleted += missing(objects, objectsAfter) - 1 + missing(rollouts, rolloutsAfter)
	takeoverRollouts += missing(rolloutsAfter, rollouts)
	return taken
}
