package apply_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

var _ = Describe("a yieldable field", engineCase, func() {
	const probePath = "spec.template.spec.containers[name=server].readinessProbe.httpGet.path"
	var w *world

	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		w.settle(ctx)
	})

	// tune applies the containers of another manager.
	tune := func(ctx context.Context, containers ...*corev1ac.ContainerApplyConfiguration) {
		GinkgoHelper()
		theirs := appsv1ac.Deployment("demo", w.owner.Namespace).WithSpec(appsv1ac.DeploymentSpec().
			WithTemplate(corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().WithContainers(containers...))))
		Expect(admin.Apply(ctx, theirs, client.FieldOwner("tuner"), client.ForceOwnership)).To(Succeed())
	}
	probe := func(path string) *corev1ac.ContainerApplyConfiguration {
		return corev1ac.Container().WithName("server").
			WithReadinessProbe(corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path)))
	}
	toTuner := ConsistOf(And(HaveField("Key.Kind", "Deployment"), HaveField("Path", probePath), HaveField("Manager", "tuner")))

	It("is ceded as long as another manager has it, across restarts, and taken again when it lets go", func(ctx SpecContext) {
		tune(ctx, probe("/theirs"))
		w.seen(ctx)
		Expect(w.rests(ctx).Ceded).To(toTuner)
		w.restart()
		Expect(w.rests(ctx).Ceded).To(toTuner)
		w.image = "registry.test/demo:2"
		report := w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(And(HaveField("Action", apply.Updated), HaveField("Forced", BeEmpty()))))
		Expect(report.Ceded).To(toTuner)
		Expect(w.container(ctx, "server").ReadinessProbe.HTTPGet.Path).To(Equal("/theirs"))

		tune(ctx)
		w.seen(ctx)
		report = w.settle(ctx)
		Expect(report.Ceded).To(BeEmpty())
		Expect(report.Changes).To(ConsistOf(And(
			HaveField("Action", apply.Reclaimed), HaveField("Fields", ConsistOf(HaveField("Path", probePath))))))
		Expect(w.container(ctx, "server").ReadinessProbe.HTTPGet.Path).To(Equal("/healthz"))
		Expect(w.rests(ctx).Ceded).To(BeEmpty())
	})

	It("is ceded with what was removed beside it: a probe of another sort", func(ctx SpecContext) {
		deployment := w.liveDeployment(ctx)
		deployment.Spec.Template.Spec.Containers[0].ReadinessProbe.ProbeHandler = corev1.ProbeHandler{
			Exec: &corev1.ExecAction{Command: []string{"true"}},
		}
		Expect(admin.Update(ctx, deployment, client.FieldOwner("kubectl-edit"))).To(Succeed())
		w.seen(ctx)
		Expect(w.rests(ctx).Ceded).To(And(HaveLen(2), HaveEach(HaveField("Manager", "kubectl-edit"))))
		w.image = "registry.test/demo:2"
		w.settle(ctx)
		Expect(w.container(ctx, "server").ReadinessProbe.Exec).NotTo(BeNil())
		w.rests(ctx)
	})

	It("is ceded while what is ours beside it is forced", func(ctx SpecContext) {
		tune(ctx, probe("/theirs").WithImage("registry.test/theirs:1"))
		w.seen(ctx)
		report := w.settle(ctx)
		Expect(report.Ceded).To(toTuner)
		Expect(report.Changes).To(ConsistOf(HaveField("Forced", ConsistOf(HaveField("Path", imagePath)))))
		container := w.container(ctx, "server")
		Expect(container.Image).To(Equal(w.image))
		Expect(container.ReadinessProbe.HTTPGet.Path).To(Equal("/theirs"))
		w.rests(ctx)
	})

	It("is ceded when it is taken after the engine looked", func(ctx SpecContext) {
		racing := between(func(ctx context.Context) { tune(ctx, probe("/theirs")) })
		w.image = "registry.test/demo:2"
		report, err := racing.Converge(ctx, w.owner, w.records, []runtime.ApplyConfiguration{w.renderDeployment()}, nil, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Ceded).To(toTuner)
		Expect(report.Changes).To(ConsistOf(And(HaveField("Action", apply.Updated), HaveField("Forced", BeEmpty()))))
		Expect(w.container(ctx, "server").Image).To(Equal(w.image))
		Expect(w.container(ctx, "server").ReadinessProbe.HTTPGet.Path).To(Equal("/theirs"))
	})

	It("is what the options say", func(ctx SpecContext) {
		kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
		w.restart(func(o *apply.Options) { o.Yieldable = map[schema.GroupKind][]apply.Pattern{} })
		tune(ctx, probe("/theirs"))
		w.seen(ctx)
		Expect(w.settle(ctx).Changes).To(ConsistOf(HaveField("Action", apply.Corrected)))
		w.rests(ctx)

		w.restart(func(o *apply.Options) {
			o.Yieldable = map[schema.GroupKind][]apply.Pattern{kind: {{"spec", "replicas"}}}
		})
		deployment := w.liveDeployment(ctx)
		*deployment.Spec.Replicas = 4
		Expect(admin.Update(ctx, deployment, client.FieldOwner("scaler"))).To(Succeed())
		w.seen(ctx)
		Expect(w.rests(ctx).Ceded).To(ConsistOf(And(HaveField("Path", "spec.replicas"), HaveField("Manager", "scaler"))))
	})
})
