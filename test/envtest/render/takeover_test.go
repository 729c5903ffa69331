package render_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// release makes Deployment and Service as a chart with selectors of its own
// leaves them.
func (w *world) release(ctx context.Context) (*appsv1.Deployment, *corev1.Service) {
	GinkgoHelper()
	helm := client.FieldOwner("helm")
	about := metav1.ObjectMeta{
		Namespace: w.Namespace, Name: name,
		Labels:      map[string]string{"app": "old", "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "terdut-server-1.2.3"},
		Annotations: map[string]string{"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": w.Namespace},
	}
	pod := map[string]string{"app": "old", "release": name}
	service := &corev1.Service{ObjectMeta: *about.DeepCopy()}
	service.Spec.Selector = pod
	service.Spec.Ports = []corev1.ServicePort{{Name: "web", Port: 80, TargetPort: intstr.FromInt32(8080)}}
	Expect(env.Admin.Create(ctx, service, helm)).To(Succeed())
	deployment := &appsv1.Deployment{ObjectMeta: *about.DeepCopy()}
	deployment.Spec.Replicas = ptr.To(int32(1))
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: pod}
	deployment.Spec.Template.Labels = pod
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "terdut", Image: goodImage + ":v0.9.2", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}},
		Env: []corev1.EnvVar{{Name: "OLD", Value: "value"}},
	}}
	Expect(env.Admin.Create(ctx, deployment, helm)).To(Succeed())
	return deployment, service
}

var _ = Describe("What Helm has made", func() {
	It("is left alone unless the spec asks for it, and then is the server's own", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		oldDeployment, oldService := w.release(ctx)
		stop := w.start(300 * time.Millisecond)
		w.create(ctx, nil)
		Eventually(w.condition(ctx, v1alpha1.ConditionStalled)).Should(HavePrefix("True NameConflict"))
		Expect(get(ctx, w, &corev1.Service{}).ResourceVersion).To(Equal(oldService.ResourceVersion))

		change(ctx, w, &v1alpha1.TerdutServer{}, func(s *v1alpha1.TerdutServer) { s.Spec.TakeOver = v1alpha1.TakeOverHelm })
		w.Ready(ctx)
		deployment, service := get(ctx, w, &appsv1.Deployment{}), get(ctx, w, &corev1.Service{})
		Expect(deployment.UID).To(Equal(oldDeployment.UID), "kept, not made anew")
		Expect(service.UID).To(Equal(oldService.UID))
		Expect(service.Spec.ClusterIP).To(Equal(oldService.Spec.ClusterIP))
		Expect(deployment.Spec.Selector).To(Equal(oldDeployment.Spec.Selector), "it cannot change")
		Expect(service.Spec.Selector).To(Equal(oldDeployment.Spec.Selector.MatchLabels), "pods of before serve until the new ones do")
		Expect(deployment.Spec.Template.Labels).To(And(HaveKeyWithValue("app", "old"), HaveKeyWithValue("app.kubernetes.io/instance", name)))
		Expect(deployment.Spec.Template.Spec.Containers).To(HaveLen(1), "what Helm had set and the operator does not is gone")
		Expect(deployment.Annotations).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"))
		Expect(deployment.Labels).To(HaveKeyWithValue("app.kubernetes.io/managed-by", "terdut-operator"))
		Eventually(w.Events(ctx)).Should(ContainElements(
			HavePrefix("Normal TakenOver: took over Deployment terdut of the Helm release "+w.Namespace+"/terdut"),
			HavePrefix("Normal TakenOver: took over Service terdut of the Helm release "+w.Namespace+"/terdut"),
		))

		By("being ordinary afterwards, with the field or without it")
		w.rests(stop)
		stop = w.start(300 * time.Millisecond)
		change(ctx, w, &v1alpha1.TerdutServer{}, func(s *v1alpha1.TerdutServer) { s.Spec.TakeOver = "" })
		Eventually(func() int64 { return get(ctx, w, &v1alpha1.TerdutServer{}).Status.ObservedGeneration }).Should(Equal(int64(3)))
		w.Ready(ctx)
		w.rests(stop)
		Expect(get(ctx, w, &appsv1.Deployment{}).Spec.Selector).To(Equal(oldDeployment.Spec.Selector))
	})
})

var _ = Describe("Another field manager", func() {
	It("keeps the resources that it sets, and a condition and one Event say so", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		stop := w.start(300 * time.Millisecond)
		w.create(ctx, nil)
		w.Ready(ctx)
		scaler := []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/resources/requests/cpu","value":"75m"}]`)
		deployment := get(ctx, w, &appsv1.Deployment{})
		Expect(env.Admin.Patch(ctx, deployment, client.RawPatch("application/json-patch+json", scaler), client.FieldOwner("vpa"))).To(Succeed())
		Eventually(w.condition(ctx, v1alpha1.ConditionCeded)).Should(And(HavePrefix("True FieldsCeded: "), ContainSubstring("resources"), ContainSubstring("(vpa)")))
		w.Ready(ctx)
		w.rests(stop)
		Expect(get(ctx, w, &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("75m"))
		told := 0
		for _, e := range w.Events(ctx)() {
			if len(e) > 18 && e[:18] == "Normal FieldsCeded" {
				told++
			}
		}
		Expect(told).To(Equal(1))
	})

	It("is named when it takes a field back again and again", func(ctx SpecContext) {
		w := newWorld(ctx, nil)
		w.start(time.Hour)
		w.create(ctx, nil)
		w.Ready(ctx)
		for range 6 {
			if w.condition(ctx, v1alpha1.ConditionContested)() != "absent" {
				break
			}
			change(ctx, w, &appsv1.Deployment{}, func(d *appsv1.Deployment) { d.Spec.MinReadySeconds++; d.Spec.Replicas = ptr.To(int32(2)) })
			Eventually(func() bool {
				return *get(ctx, w, &appsv1.Deployment{}).Spec.Replicas == 1 || w.condition(ctx, v1alpha1.ConditionContested)() != "absent"
			}).Should(BeTrue())
		}
		Eventually(w.condition(ctx, v1alpha1.ConditionContested)).Should(And(HavePrefix("True FieldsContested: "),
			ContainSubstring("spec.replicas of Deployment terdut (kubectl-edit)")))
		Eventually(w.Events(ctx)).Should(ContainElement(HavePrefix("Warning FieldsContested: ")))
	})
})
