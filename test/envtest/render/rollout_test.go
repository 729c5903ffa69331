package render_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// What a kubelet, a quota and Pod Security say of a pod stands in Available,
// and is an Event.
var _ = Describe("A pod that does not start", func() {
	available := func(ctx SpecContext, w *world) func() string { return w.condition(ctx, v1alpha1.ConditionAvailable) }

	It("tells the image that cannot be pulled, and nothing once it can", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		w.start(time.Hour)
		w.create(ctx, func(s *v1alpha1.TerdutServer) { s.Spec.Image.Repository = "registry.example.com/nowhere" })
		Eventually(available(ctx, w)).Should(HavePrefix("False ImagePullFailed: image registry.example.com/nowhere:v0.9.3 cannot be pulled"))
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix("Warning ImagePullFailed: ")))
		change(ctx, w, &v1alpha1.TerdutServer{}, func(s *v1alpha1.TerdutServer) { s.Spec.Image.Repository = goodImage })
		w.Ready(ctx)
	})

	It("tells the Secret and the key that are missing", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		w.start(time.Hour)
		extra := func(s *v1alpha1.TerdutServer) {
			s.Spec.ExtraEnv = []v1alpha1.ServerEnvVar{{Name: "EXTRA", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "extra"}, Key: "token",
			}}}}
		}
		w.create(ctx, extra)
		Eventually(available(ctx, w)).Should(And(HavePrefix("False PodConfigInvalid: container terdut-server of pod terdut-"), ContainSubstring("extra")))
		Expect(env.Admin.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "extra"}, StringData: map[string]string{"token": "t0ken"},
		})).To(Succeed())
		w.Ready(ctx)
	})

	It("tells the exit code of a crash", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		w.start(time.Hour)
		w.create(ctx, func(s *v1alpha1.TerdutServer) { s.Spec.Image.Repository = crashImage })
		Eventually(available(ctx, w)).Should(And(HavePrefix("False CrashLooping: container terdut-server of pod terdut-"), ContainSubstring("exit code 3")))
	})

	It("tells the quota that is exceeded", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "none"}}
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		Expect(env.Admin.Create(ctx, quota)).To(Succeed())
		// No controller keeps quotas here; its status says what is used.
		quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
		Expect(env.Admin.Status().Update(ctx, quota)).To(Succeed())
		w.start(time.Hour)
		w.create(ctx, nil)
		Eventually(available(ctx, w)).Should(HavePrefix("False QuotaExceeded: a quota of the namespace does not admit the pods: exceeded quota: none"))
	})

	It("tells that the namespace does not admit it", func(ctx SpecContext) {
		w := newWorld(ctx, restricted)
		w.start(time.Hour)
		w.create(ctx, func(s *v1alpha1.TerdutServer) {
			s.Spec.ContainerSecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		})
		Eventually(available(ctx, w)).Should(And(HavePrefix("False PodsRefused: the cluster does not admit the pods: "), ContainSubstring("PodSecurity")))
	})

	It("tells that no node takes it", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		w.start(time.Hour)
		w.create(ctx, func(s *v1alpha1.TerdutServer) { s.Spec.Replicas = ptr.To(int32(0)) })
		Eventually(func() error { return env.Admin.Get(ctx, w.key(), &appsv1.Deployment{}) }).Should(Succeed())
		// Behind a gate, which the operator leaves to who sets it, no node of the suite takes the pod.
		change(ctx, w, &appsv1.Deployment{}, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/never"}}
		})
		change(ctx, w, &v1alpha1.TerdutServer{}, func(s *v1alpha1.TerdutServer) { s.Spec.Replicas = ptr.To(int32(1)) })
		w.unschedulable(ctx)
		Eventually(available(ctx, w)).Should(And(HavePrefix("False Unschedulable: no node takes pod terdut-"),
			HaveSuffix(": 0/1 nodes are available: 1 Insufficient cpu.")))
	})
})

// unschedulable says of the pod what a scheduler says when no node has room.
func (w *world) unschedulable(ctx SpecContext) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(env.Admin.List(ctx, pods, client.InNamespace(w.Namespace))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
		pods.Items[0].Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/1 nodes are available: 1 Insufficient cpu.",
		}}
		g.Expect(env.Admin.Status().Update(ctx, &pods.Items[0])).To(Succeed())
	}).Should(Succeed())
}

// restricted enforces the Pod Security Standard of that name.
var restricted = map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}

var _ = Describe("Pod Security restricted", func() {
	It("admits what is rendered by default", func(ctx SpecContext) {
		w := newWorld(ctx, restricted)
		w.start(time.Hour)
		w.create(ctx, nil)
		w.Ready(ctx)
	})
})
