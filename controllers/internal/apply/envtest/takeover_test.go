package apply_test

import (
	"context"
	"errors"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
)

const restartedAt = "kubectl.kubernetes.io/restartedAt"

var _ = Describe("TakeOver", Ordered, ContinueOnFailure, engineCase, func() {
	var workloads *controlplane.ControlPlane
	var user client.Client

	BeforeAll(func(ctx SpecContext) {
		var err error
		workloads, err = controlplane.Start(ctx, controlplane.Options{Log: os.Stderr, Controllers: controlplane.WorkloadControllers()})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(workloads.Stop()).To(Succeed()) })
		user, err = client.New(workloads.Config, client.Options{Scheme: admin.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		takeoverDeleted, takeoverRollouts = 0, 0
	})
	newRelease := func(ctx context.Context, applied bool) *release {
		GinkgoHelper()
		r := &release{world: &world{owner: ownerIn(ctx, user), image: "registry.test/demo:1", url: "http://demo", selector: labels}}
		r.engine = apply.New(apply.Options{Client: user, Live: user, Scheme: user.Scheme()})
		r.plane, r.admin, r.applied = workloads, user, applied
		return r
	}

	for name, applied := range map[string]bool{"Helm 3, which updates": false, "Helm 4, which applies": true} {
		It("leaves everything running that was made by "+name, func(ctx SpecContext) {
			r := newRelease(ctx, applied)
			r.install(ctx)
			r.kubectl(ctx, "rollout", "restart", "deployment/demo")
			r.kubectl(ctx, "set", "resources", "deployment/demo", "--requests=cpu=2")
			r.kubectl(ctx, "annotate", "deployment/demo", "example.com/note=mine")
			r.rolledOut(ctx)
			before := &appsv1.Deployment{}
			r.get(ctx, before)

			By("refusing it unless it is asked for")
			_, err := r.engine.Converge(ctx, r.owner, nil, r.children(), prunable, nil)
			var refused *apply.Refused
			Expect(errors.As(err, &refused)).To(BeTrue())

			taken := r.takeOver(ctx)
			Expect(taken).To(HaveLen(3))
			Expect(taken).To(HaveEach(And(HaveField("Release", r.owner.Namespace+"/demo"), HaveField("Forced", BeEmpty()))))
			Expect(takeoverDeleted).To(BeZero())
			Expect(takeoverRollouts).To(BeZero())

			after := &appsv1.Deployment{}
			r.get(ctx, after)
			Expect(after.Spec).To(Equal(before.Spec))
			Expect(after.Spec.Template.Annotations).To(HaveKey(restartedAt))
			Expect(taken[2].Ceded).To(ConsistOf(And(
				HaveField("Path", "spec.template.spec.containers[name=server].resources.requests.cpu"), HaveField("Manager", "kubectl-set"))))
			Expect(after.Annotations).To(HaveKeyWithValue("example.com/note", "mine"))
			for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}, &corev1.Secret{}} {
				r.get(ctx, object)
				Expect(metav1.IsControlledBy(object, r.owner)).To(BeTrue())
				Expect(object.GetLabels()).To(Equal(labels))
				Expect(object.GetAnnotations()).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"))
				Expect(object.GetAnnotations()).NotTo(HaveKey(HavePrefix("meta.helm.sh/")))
				for _, entry := range object.GetManagedFields() {
					Expect(entry.Manager).NotTo(Equal("helm"))
				}
			}

			By("having nothing left to do")
			again, err := r.ask(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(again).To(BeEmpty())
			report, err := r.pass(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(report.Changes).To(BeEmpty())
			quiet := &appsv1.Deployment{}
			r.get(ctx, quiet)
			Expect(quiet.ResourceVersion).To(Equal(after.ResourceVersion))

			By("removing what the intent drops: nobody else owns it")
			r.image = "registry.test/demo:2"
			r.only = []string{"Deployment", "Secret"}
			report, err = r.pass(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(report.Changes).To(ConsistOf(
				And(HaveField("Action", apply.Updated), HaveField("Forced", BeEmpty())),
				And(HaveField("Action", apply.Deleted), HaveField("Key.Kind", "Service"))))
		})

		It("passes a default that stands in the way, of "+name, func(ctx SpecContext) {
			r := newRelease(ctx, applied)
			r.install(ctx)
			r.recreate = true
			Expect(r.takeOver(ctx)).To(HaveLen(3))
			after := &appsv1.Deployment{}
			r.get(ctx, after)
			Expect(after.Spec.Strategy).To(Equal(appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}))
			Expect(takeoverDeleted).To(BeZero())
			Expect(takeoverRollouts).To(BeZero())
		})

		It("goes on after an interruption, of "+name, func(ctx SpecContext) {
			r := newRelease(ctx, applied)
			r.install(ctx)
			broken := errors.New("the operator died")
			dying, err := client.NewWithWatch(workloads.Config, client.Options{Scheme: admin.Scheme()})
			Expect(err).NotTo(HaveOccurred())
			r.engine = apply.New(apply.Options{Live: user, Scheme: user.Scheme(), Client: interceptor.NewClient(dying, interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return broken
				},
			})})
			for range 2 {
				taken, dead := r.ask(ctx)
				Expect(dead).To(MatchError(broken))
				Expect(taken).To(BeEmpty())
			}
			r.engine = apply.New(apply.Options{Client: user, Live: user, Scheme: user.Scheme()})
			Expect(r.takeOver(ctx)).To(HaveLen(3))
			Expect(takeoverDeleted).To(BeZero())
			Expect(takeoverRollouts).To(BeZero())
		})
	}

	It("writes nothing when the selector differs, and tells the live one", func(ctx SpecContext) {
		r := newRelease(ctx, false)
		r.only = []string{"Deployment"}
		r.install(ctx)
		before := &appsv1.Deployment{}
		r.get(ctx, before)
		r.selector = map[string]string{"app.kubernetes.io/name": "other"}
		taken, err := r.ask(ctx)
		var fixed *apply.Immutable
		Expect(errors.As(err, &fixed)).To(BeTrue())
		Expect(taken).To(BeEmpty())
		after := &appsv1.Deployment{}
		r.get(ctx, after)
		Expect(after.ResourceVersion).To(Equal(before.ResourceVersion))

		selector, err := r.engine.LiveSelector(ctx, fixed.Key)
		Expect(err).NotTo(HaveOccurred())
		r.selector = selector.MatchLabels
		taken, err = r.ask(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(taken).To(HaveLen(1))
	})

	It("costs no request once everything is taken over", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.settle(ctx)
		requests.take()
		taken, err := w.engine.TakeOver(ctx, w.owner, w.children(), apply.Helm())
		Expect(err).NotTo(HaveOccurred())
		Expect(taken).To(BeEmpty())
		Expect(requests.take()).To(BeEmpty())
	})

	It("leaves alone what is not Helm's, or somebody else's, or going", func(ctx SpecContext) {
		r := newRelease(ctx, false)
		r.install(ctx)
		service, secret, deployment := &corev1.Service{}, &corev1.Secret{}, &appsv1.Deployment{}
		r.get(ctx, service)
		delete(service.Annotations, "meta.helm.sh/release-name")
		Expect(user.Update(ctx, service)).To(Succeed())
		r.get(ctx, secret)
		secret.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Namespace", Name: "another", UID: r.owner.UID + "0", Controller: ptr.To(true),
		}}
		Expect(user.Update(ctx, secret)).To(Succeed())
		r.get(ctx, deployment)
		deployment.Finalizers = []string{"example.com/hold"}
		Expect(user.Update(ctx, deployment)).To(Succeed())
		Expect(user.Delete(ctx, deployment)).To(Succeed())
		taken, err := r.ask(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(taken).To(BeEmpty())
	})
})
