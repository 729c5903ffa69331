package apply_test

import (
	"context"
	"errors"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

var _ = Describe("Repair", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	clearFields := func(ctx context.Context) {
		GinkgoHelper()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
		Expect(admin.Patch(ctx, w.liveDeployment(ctx), patch)).To(Succeed())
		Expect(w.liveDeployment(ctx).ManagedFields).To(BeEmpty())
		w.seen(ctx)
	}
	managers := func(ctx context.Context) []string {
		GinkgoHelper()
		var names []string
		for _, entry := range w.liveDeployment(ctx).ManagedFields {
			names = append(names, entry.Manager)
		}
		return names
	}
	variable := func(name, value string) []*corev1ac.EnvVarApplyConfiguration {
		return []*corev1ac.EnvVarApplyConfiguration{corev1ac.EnvVar().WithName(name).WithValue(value)}
	}

	It("owns again what has lost its managedFields, and calls it no drift", engineCase, func(ctx SpecContext) {
		w.env = variable("OLD", "1")
		w.settle(ctx)
		deployment := w.liveDeployment(ctx)
		deployment.Annotations = map[string]string{"example.com/note": "mine"}
		Expect(admin.Update(ctx, deployment)).To(Succeed())
		clearFields(ctx)
		before := w.liveDeployment(ctx)

		requests.take()
		report := w.settle(ctx)
		Expect(report.Changes).To(BeEmpty())
		Expect(report.Reowned).To(ConsistOf(HaveField("Kind", "Deployment")))
		Expect(requests.take()).To(HaveLen(2), "one read and one write")
		Expect(w.liveDeployment(ctx).Spec).To(Equal(before.Spec))
		Expect(w.liveDeployment(ctx).Annotations).To(Equal(before.Annotations))
		Expect(managers(ctx)).To(ConsistOf(apply.FieldManager))
		w.rests(ctx)

		By("removing what the intent drops: nobody else owns it")
		w.env = nil
		Expect(w.settle(ctx).Changes).To(ConsistOf(And(HaveField("Action", apply.Updated), HaveField("Forced", BeEmpty()))))
		Expect(w.container(ctx, "server").Env).To(HaveLen(2))
		Expect(w.liveDeployment(ctx).Annotations).To(HaveKeyWithValue("example.com/note", "mine"))
		w.rests(ctx)
	})

	It("owns it again also when others applied to it since", engineCase, func(ctx SpecContext) {
		w.env = variable("OLD", "1")
		w.settle(ctx)
		clearFields(ctx)
		theirs := appsv1ac.Deployment("demo", w.owner.Namespace).WithAnnotations(map[string]string{"mesh.test/injected": "yes"})
		Expect(admin.Apply(ctx, theirs, client.FieldOwner("mesh"))).To(Succeed())
		Expect(managers(ctx)).To(ConsistOf("mesh", "before-first-apply"))
		w.seen(ctx)
		Expect(w.settle(ctx).Reowned).To(HaveLen(1))
		w.rests(ctx)
		w.env = nil
		w.settle(ctx)
		Expect(w.container(ctx, "server").Env).To(HaveLen(2))
		Expect(w.liveDeployment(ctx).Annotations).To(HaveKeyWithValue("mesh.test/injected", "yes"))
		w.rests(ctx)
	})

	It("owns it again when only its own entry was removed", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		deployment := w.liveDeployment(ctx)
		deployment.Annotations = map[string]string{"example.com/note": "mine"}
		Expect(admin.Update(ctx, deployment, client.FieldOwner("kubectl-edit"))).To(Succeed())
		deployment.ManagedFields = slices.DeleteFunc(deployment.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == apply.FieldManager
		})
		Expect(admin.Update(ctx, deployment)).To(Succeed())
		Expect(managers(ctx)).To(ConsistOf("kubectl-edit"))
		w.seen(ctx)
		report := w.settle(ctx)
		Expect(report.Changes).To(BeEmpty())
		Expect(report.Reowned).To(HaveLen(1))
		Expect(managers(ctx)).To(ConsistOf("kubectl-edit", apply.FieldManager))
		w.rests(ctx)
	})

	It("corrects what was changed besides, of which nobody can be named", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		clearFields(ctx)
		deployment := w.liveDeployment(ctx)
		deployment.Spec.Template.Spec.Containers[0].Image = "registry.test/evil:1"
		Expect(admin.Update(ctx, deployment, client.FieldOwner("kubectl-edit"))).To(Succeed())
		w.seen(ctx)
		Expect(w.settle(ctx).Changes).To(ConsistOf(And(
			HaveField("Action", apply.Corrected), HaveField("Fields", ConsistOf(HaveField("Path", imagePath))))))
		Expect(w.container(ctx, "server").Image).To(Equal(w.image))
		Expect(managers(ctx)).To(ConsistOf(apply.FieldManager))
		w.rests(ctx)
	})

	It("still says who it was after a restart between drift and repair", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		deployment := w.liveDeployment(ctx)
		deployment.Spec.Template.Spec.Containers[0].Image = "registry.test/evil:1"
		Expect(admin.Update(ctx, deployment, client.FieldOwner("kubectl-edit"))).To(Succeed())
		w.seen(ctx)
		w.restart()
		Expect(w.settle(ctx).Changes).To(ConsistOf(And(HaveField("Action", apply.Corrected), HaveField("Fields", ConsistOf(
			And(HaveField("Path", imagePath), HaveField("Manager", "kubectl-edit")))))))

		By("not calling it drift when the intent has changed as well")
		deployment = w.liveDeployment(ctx)
		deployment.Spec.Template.Spec.Containers[0].Image = "registry.test/evil:1"
		Expect(admin.Update(ctx, deployment, client.FieldOwner("kubectl-edit"))).To(Succeed())
		w.image = "registry.test/demo:2"
		w.seen(ctx)
		w.restart()
		Expect(w.settle(ctx).Changes).To(ConsistOf(HaveField("Action", apply.Updated)))
	})

	It("applies once per resync what the API server stores differently", engineCase, func(ctx SpecContext) {
		now := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
		w.restart(func(o *apply.Options) { o.Now, o.Resync = func() time.Time { return now }, time.Hour })
		// The API server stores the variable without the empty value: the intent is never what is stored.
		w.normalises, w.env = true, variable("EMPTY", "")
		w.settle(ctx)
		before := w.liveDeployment(ctx).ResourceVersion
		noOp := ConsistOf(HaveField("Kind", "Deployment"))
		Expect(w.settle(ctx).NoOps).To(noOp)
		for range 3 {
			Expect(w.rests(ctx).NoOps).To(BeEmpty())
		}
		now = now.Add(time.Hour)
		report := w.settle(ctx)
		Expect(report.Changes).To(BeEmpty())
		Expect(report.NoOps).To(noOp)
		Expect(w.rests(ctx).NoOps).To(BeEmpty())
		Expect(w.liveDeployment(ctx).ResourceVersion).To(Equal(before))

		By("looking again when the object or the intent changes")
		deployment := w.liveDeployment(ctx)
		deployment.Spec.Template.Spec.Containers[0].Image = "registry.test/evil:1"
		Expect(admin.Update(ctx, deployment)).To(Succeed())
		w.seen(ctx)
		Expect(w.settle(ctx).Changes).To(ConsistOf(HaveField("Action", apply.Corrected)))
		w.settle(ctx)
		w.image = "registry.test/demo:2"
		Expect(w.settle(ctx).Changes).To(ConsistOf(HaveField("Action", apply.Updated)))
	})

	It("records a child without its old UID before it makes it again", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.owner.Namespace, Name: "demo"}}
		Expect(admin.Delete(ctx, service)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(cached.Get(ctx, client.ObjectKeyFromObject(service), &corev1.Service{}))
		}).Should(BeTrue())
		_, err := w.pass(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(w.remembered).To(Equal(2))

		By("losing the write that followed, and then the wish: it is still pruned")
		for i := range w.records {
			if w.records[i].Kind == "Service" {
				Expect(w.records[i].UID).NotTo(BeEmpty())
				w.records[i].UID = ""
			}
		}
		w.only = []string{"Deployment", "Secret"}
		Expect(w.settle(ctx).Changes).To(ConsistOf(And(HaveField("Action", apply.Deleted), HaveField("Key.Kind", "Service"))))
	})
})

var _ = Describe("an immutable field", engineCase, func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	refused := func(ctx context.Context, field string) {
		GinkgoHelper()
		requests.take()
		_, err := w.pass(ctx)
		var fixed *apply.Immutable
		Expect(errors.As(err, &fixed)).To(BeTrue(), "%v", err)
		Expect(fixed.Field).To(Equal(field))
		Expect(fixed).To(MatchError(ContainSubstring("delete the object")))
		for _, request := range requests.take() {
			Expect(request).To(HavePrefix("GET "))
		}
	}

	It("is the type of a Secret", func(ctx SpecContext) {
		w.only = []string{"Secret"}
		w.settle(ctx)
		w.secretType = corev1.SecretTypeDockerConfigJson
		refused(ctx, "type")
	})

	It("is the content of a sealed Secret, and not its labels", func(ctx SpecContext) {
		w.only = []string{"Secret"}
		w.settle(ctx)
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: w.owner.Namespace, Name: "demo"}
		Expect(admin.Get(ctx, key, secret)).To(Succeed())
		secret.Immutable = ptr.To(true)
		delete(secret.Labels, "app.kubernetes.io/name")
		Expect(admin.Update(ctx, secret)).To(Succeed())
		w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Secret"}: secret}})
		Expect(w.settle(ctx).Changes).To(ConsistOf(HaveField("Action", apply.Corrected)))
		w.url = "http://other"
		refused(ctx, "data")
	})

	It("is the address of a Service", func(ctx SpecContext) {
		w.only = []string{"Service"}
		w.settle(ctx)
		w.clusterIP = corev1.ClusterIPNone
		refused(ctx, "spec.clusterIP")
	})

	It("is the selector of a Deployment", func(ctx SpecContext) {
		w.settle(ctx)
		w.selector = map[string]string{"app.kubernetes.io/name": "other"}
		refused(ctx, "spec.selector")
		selector, err := w.engine.LiveSelector(ctx, apply.Key{
			Group: appsv1.GroupName, Version: "v1", Kind: "Deployment", Namespace: w.owner.Namespace, Name: "demo",
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(selector.MatchLabels).To(Equal(labels))
	})
})
