package apply_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

// kubectl runs the real one on the Deployment of the world.
func (w *world) kubectl(ctx context.Context, env []string, args ...string) {
	GinkgoHelper()
	command := plane.Kubectl(ctx, append(args, "--namespace", w.owner.Namespace)...)
	command.Env = append(command.Environ(), env...)
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	w.seen(ctx)
}

var _ = Describe("kubectl", engineCase, func() {
	var w *world

	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		w.settle(ctx)
	})

	corrected := func(report apply.Report, path, manager string) {
		GinkgoHelper()
		field := And(HaveField("Path", path), HaveField("Manager", manager), HaveField("Operation", "Update"))
		Expect(report.Changes).To(ConsistOf(And(
			HaveField("Action", apply.Corrected), HaveField("Fields", ConsistOf(field)), HaveField("Forced", ConsistOf(field)))))
	}

	It("edit: what is ours is restored, the rest stays", func(ctx SpecContext) {
		w.kubectl(ctx, []string{"KUBE_EDITOR=sed -i -e s#registry.test/demo:1#registry.test/evil:9# -e s#dnsPolicy:.*#dnsPolicy:\\ Default#"},
			"edit", "deployment/demo")
		Expect(w.container(ctx, "server").Image).To(Equal("registry.test/evil:9"))
		corrected(w.settle(ctx), "spec.template.spec.containers[name=server].image", "kubectl-edit")
		Expect(w.container(ctx, "server").Image).To(Equal(w.image))
		Expect(w.liveDeployment(ctx).Spec.Template.Spec.DNSPolicy).To(Equal(corev1.DNSDefault))
		w.rests(ctx)
	})

	It("scale: replicas are ours", func(ctx SpecContext) {
		w.kubectl(ctx, nil, "scale", "deployment/demo", "--replicas=5")
		Expect(*w.liveDeployment(ctx).Spec.Replicas).To(BeEquivalentTo(5))
		corrected(w.settle(ctx), "spec.replicas", "kubectl")
		Expect(*w.liveDeployment(ctx).Spec.Replicas).To(BeEquivalentTo(1))
		w.rests(ctx)
	})

	It("rollout restart: survives, also a later change of the intent", func(ctx SpecContext) {
		const restartedAt = "kubectl.kubernetes.io/restartedAt"
		w.kubectl(ctx, nil, "rollout", "restart", "deployment/demo")
		stamp := w.liveDeployment(ctx).Spec.Template.Annotations[restartedAt]
		Expect(stamp).NotTo(BeEmpty())
		w.rests(ctx)
		w.image = "registry.test/demo:2"
		Expect(w.settle(ctx).Changes).To(ConsistOf(And(HaveField("Action", apply.Updated), HaveField("Forced", BeEmpty()))))
		Expect(w.liveDeployment(ctx).Spec.Template.Annotations).To(HaveKeyWithValue(restartedAt, stamp))
		w.rests(ctx)
	})

	It("set env: a variable of ours is restored, another stays", func(ctx SpecContext) {
		w.kubectl(ctx, nil, "set", "env", "deployment/demo", "MODE=loud", "MORE=1")
		corrected(w.settle(ctx), "spec.template.spec.containers[name=server].env[name=MODE].value", "kubectl-set")
		Expect(w.container(ctx, "server").Env).To(ConsistOf(
			corev1.EnvVar{Name: "MODE", Value: "quiet"}, corev1.EnvVar{Name: "ADDR", Value: "$(MODE):8080"}, corev1.EnvVar{Name: "MORE", Value: "1"}))
		w.rests(ctx)
	})

	It("set resources: they are ceded, and cost no request", func(ctx SpecContext) {
		w.kubectl(ctx, nil, "set", "resources", "deployment/demo", "--requests=cpu=2")
		report := w.rests(ctx)
		Expect(report.Ceded).To(ConsistOf(And(HaveField("Key.Kind", "Deployment"),
			HaveField("Path", "spec.template.spec.containers[name=server].resources.requests.cpu"), HaveField("Manager", "kubectl-set"))))
		w.image = "registry.test/demo:2"
		Expect(w.settle(ctx).Changes).To(ConsistOf(And(HaveField("Action", apply.Updated), HaveField("Forced", BeEmpty()))))
		requested := w.container(ctx, "server").Resources.Requests
		Expect(requested.Cpu().String()).To(Equal("2"))
		Expect(requested.Memory().String()).To(Equal("64Mi"))
		Expect(w.rests(ctx).Ceded).To(HaveLen(1))

		By("setting it to what the intent says, which hands it back")
		w.kubectl(ctx, nil, "set", "resources", "deployment/demo", "--requests=cpu=100m")
		report = w.settle(ctx)
		Expect(report.Ceded).To(BeEmpty())
		Expect(report.Changes).To(ConsistOf(And(HaveField("Action", apply.Reclaimed), HaveField("Forced", BeEmpty()))))
		w.rests(ctx)
	})

	It("patch to another strategy: the defaults that come with it are removed again", func(ctx SpecContext) {
		w.recreate = true
		Expect(w.settle(ctx).Changes).To(ConsistOf(HaveField("Action", apply.Updated)))
		Expect(w.liveDeployment(ctx).Spec.Strategy.RollingUpdate).To(BeNil())
		w.rests(ctx)
		w.kubectl(ctx, nil, "patch", "deployment/demo", "--patch", `{"spec":{"strategy":{"type":"RollingUpdate"}}}`)
		corrected(w.settle(ctx), "spec.strategy.type", "kubectl-patch")
		Expect(w.liveDeployment(ctx).Spec.Strategy.RollingUpdate).To(BeNil())
		w.rests(ctx)
	})
})

var _ = Describe("another apply manager", engineCase, func() {
	It("keeps its sidecar, tolerations and annotations", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.settle(ctx)
		theirs := appsv1ac.Deployment("demo", w.owner.Namespace).
			WithAnnotations(map[string]string{"mesh.test/injected": "yes"}).
			WithSpec(appsv1ac.DeploymentSpec().WithTemplate(corev1ac.PodTemplateSpec().
				WithAnnotations(map[string]string{"mesh.test/revision": "7"}).
				WithSpec(corev1ac.PodSpec().
					WithTolerations(corev1ac.Toleration().WithKey("dedicated").WithOperator(corev1.TolerationOpExists)).
					WithContainers(corev1ac.Container().WithName("proxy").WithImage("registry.test/proxy:1")))))
		Expect(admin.Apply(ctx, theirs, client.FieldOwner("mesh"))).To(Succeed())
		w.seen(ctx)
		Expect(w.rests(ctx).Ceded).To(BeEmpty())

		w.image = "registry.test/demo:2"
		Expect(w.settle(ctx).Changes).To(ConsistOf(And(HaveField("Action", apply.Updated), HaveField("Forced", BeEmpty()))))
		deployment := w.liveDeployment(ctx)
		Expect(deployment.Annotations).To(HaveKeyWithValue("mesh.test/injected", "yes"))
		Expect(deployment.Spec.Template.Annotations).To(HaveKeyWithValue("mesh.test/revision", "7"))
		Expect(deployment.Spec.Template.Spec.Tolerations).To(HaveLen(1))
		Expect(w.container(ctx, "proxy").Image).To(Equal("registry.test/proxy:1"))
		Expect(w.container(ctx, "server").Image).To(Equal("registry.test/demo:2"))
		w.rests(ctx)
	})
})
