package apply_test

import (
	"context"
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

var _ = Describe("Converge", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	It("records the children before it makes them, and makes them owned", func(ctx SpecContext) {
		existed := false
		var early []apply.Record
		report, err := engine.Converge(ctx, w.owner, nil, w.children(), prunable, func(ctx context.Context, records []apply.Record) error {
			early = records
			deployments := &appsv1.DeploymentList{}
			Expect(admin.List(ctx, deployments, client.InNamespace(w.owner.Namespace))).To(Succeed())
			existed = len(deployments.Items) > 0
			return nil
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(existed).To(BeFalse())
		Expect(early).To(Equal([]apply.Record{
			{Kind: "Deployment", Name: "demo"}, {Kind: "Secret", Name: "demo"}, {Kind: "Service", Name: "demo"},
		}))

		live := w.liveDeployment(ctx)
		Expect(metav1.IsControlledBy(live, w.owner)).To(BeTrue())
		Expect(*live.OwnerReferences[0].BlockOwnerDeletion).To(BeTrue())
		Expect(report.Changes).To(HaveLen(3))
		for _, change := range report.Changes {
			Expect(change.Action).To(Equal(apply.Created))
			Expect(change.Fields).To(BeEmpty())
		}
		Expect(report.Object("Deployment", "demo").GetUID()).To(Equal(live.UID))
		Expect(report.Records[0]).To(And(HaveField("UID", live.UID), HaveField("Intent", HaveLen(16))))
	})

	It("makes nothing when the records could not be stored", func(ctx SpecContext) {
		broken := errors.New("status is full")
		report, err := engine.Converge(ctx, w.owner, nil, w.children(), prunable,
			func(context.Context, []apply.Record) error { return broken })
		Expect(err).To(MatchError(broken))
		Expect(report.Changes).To(BeEmpty())
		secrets := &corev1.SecretList{}
		Expect(admin.List(ctx, secrets, client.InNamespace(w.owner.Namespace))).To(Succeed())
		Expect(secrets.Items).To(BeEmpty())
	})

	It("sends no request for untouched children, ten times", engineCase, func(ctx SpecContext) {
		first := w.settle(ctx)
		records := w.records
		requests.take()
		for range 10 {
			report, err := w.pass(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(report.Changes).To(BeEmpty())
			Expect(report.NoOps).To(BeEmpty())
			Expect(w.records).To(Equal(records))
			for key, object := range report.Live {
				Expect(object.GetResourceVersion()).To(Equal(first.Live[key].GetResourceVersion()), key.String())
			}
		}
		Expect(requests.take()).To(BeEmpty())
		Expect(w.remembered).To(Equal(1))
		Expect(w.liveDeployment(ctx).ResourceVersion).To(Equal(first.Object("Deployment", "demo").GetResourceVersion()))
	})

	It("corrects an edit and names field, manager and operation", func(ctx SpecContext) {
		w.settle(ctx)
		live := w.liveDeployment(ctx)
		live.Spec.Template.Spec.Containers[0].Image = "registry.test/evil:1"
		Expect(admin.Update(ctx, live, client.FieldOwner("kubectl-edit"))).To(Succeed())
		w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Deployment"}: live}})

		report := w.settle(ctx)
		Expect(report.Changes).To(HaveLen(1))
		change := report.Changes[0]
		Expect(change.Action).To(Equal(apply.Corrected))
		Expect(change.Fields).To(ConsistOf(And(
			HaveField("Path", "spec.template.spec.containers[name=server].image"),
			HaveField("Manager", "kubectl-edit"), HaveField("Operation", "Update"),
			HaveField("Time.Time", Not(BeZero())),
		)))
		Expect(change.Forced).To(Equal(change.Fields))
		Expect(w.liveDeployment(ctx).Spec.Template.Spec.Containers[0].Image).To(Equal(w.image))

		requests.take()
		Expect(w.settle(ctx).Changes).To(BeEmpty())
		Expect(requests.take()).To(BeEmpty())
	})

	It("corrects a removal, which nobody owns, and a changed order", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		live := w.liveDeployment(ctx)
		env := &live.Spec.Template.Spec.Containers[0].Env
		*env = (*env)[:1]
		Expect(admin.Update(ctx, live)).To(Succeed())
		w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Deployment"}: live}})
		report := w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(HaveField("Fields", ConsistOf(
			apply.FieldDrift{Path: "spec.template.spec.containers[name=server].env[name=ADDR]"}))))

		live = w.liveDeployment(ctx)
		env = &live.Spec.Template.Spec.Containers[0].Env
		(*env)[0], (*env)[1] = (*env)[1], (*env)[0]
		Expect(admin.Update(ctx, live)).To(Succeed())
		w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Deployment"}: live}})
		report = w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(HaveField("Fields", ConsistOf(apply.FieldDrift{Path: apply.PathOrder}))))
		Expect(w.liveDeployment(ctx).Spec.Template.Spec.Containers[0].Env[0].Name).To(Equal("MODE"))
	})

	It("does not take its own lagging cache for drift", func(ctx SpecContext) {
		w.settle(ctx)
		for _, image := range []string{"registry.test/demo:2", "registry.test/demo:3", "registry.test/demo:4"} {
			w.image = image
			report, err := w.pass(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(report.Changes).To(ConsistOf(And(HaveField("Action", apply.Updated), HaveField("Fields", BeEmpty()))))
			// The cache may have either version here.
			report, err = w.pass(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(report.Changes).To(BeEmpty())
		}
	})

	It("removes what the intent no longer has and keeps what others added", engineCase, func(ctx SpecContext) {
		w.env = []*corev1ac.EnvVarApplyConfiguration{corev1ac.EnvVar().WithName("OLD").WithValue("1")}
		w.settle(ctx)
		live := w.liveDeployment(ctx)
		live.Annotations = map[string]string{"example.com/note": "mine"}
		container := &live.Spec.Template.Spec.Containers[0]
		container.Env = append([]corev1.EnvVar{{Name: "FOREIGN", Value: "1"}}, container.Env...)
		Expect(admin.Update(ctx, live)).To(Succeed())
		w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Deployment"}: live}})
		requests.take()
		Expect(w.settle(ctx).Changes).To(BeEmpty())
		Expect(requests.take()).To(BeEmpty())

		w.env = nil
		report := w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(And(HaveField("Action", apply.Updated), HaveField("Forced", BeEmpty()))))
		live = w.liveDeployment(ctx)
		names := []string{}
		for _, env := range live.Spec.Template.Spec.Containers[0].Env {
			names = append(names, env.Name)
		}
		Expect(names).To(ConsistOf("FOREIGN", "MODE", "ADDR"))
		Expect(live.Annotations).To(HaveKeyWithValue("example.com/note", "mine"))
	})

	It("takes a field that another manager applied, and reports it as forced", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		theirs := appsv1ac.Deployment("demo", w.owner.Namespace).WithLabels(map[string]string{"app.kubernetes.io/name": "theirs", "else": "1"})
		Expect(admin.Apply(ctx, theirs, client.FieldOwner("gitops"), client.ForceOwnership)).To(Succeed())
		w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Deployment"}: w.liveDeployment(ctx)}})
		report := w.settle(ctx)
		taken := And(HaveField("Path", "metadata.labels[app.kubernetes.io/name]"), HaveField("Manager", "gitops"), HaveField("Operation", "Apply"))
		Expect(report.Changes).To(ConsistOf(And(HaveField("Fields", ConsistOf(taken)), HaveField("Forced", ConsistOf(taken)))))
		Expect(w.liveDeployment(ctx).Labels).To(Equal(map[string]string{"app.kubernetes.io/name": "demo", "else": "1"}))
	})

	It("makes a deleted child again", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		old := w.liveDeployment(ctx)
		Expect(admin.Delete(ctx, old)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(cached.Get(ctx, client.ObjectKeyFromObject(old), &appsv1.Deployment{}))
		}).Should(BeTrue())
		report := w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(And(
			HaveField("Action", apply.Corrected), HaveField("Fields", ConsistOf(apply.FieldDrift{Path: apply.PathDeleted})))))
		Expect(w.record("Deployment").UID).To(And(Not(Equal(old.UID)), Equal(w.liveDeployment(ctx).UID)))
	})

	It("restores a lost owner reference of a recorded child", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		live := w.liveDeployment(ctx)
		live.OwnerReferences = nil
		Expect(admin.Update(ctx, live)).To(Succeed())
		w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Deployment"}: live}})
		report := w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(HaveField("Fields", ConsistOf(
			HaveField("Path", HavePrefix("metadata.ownerReferences"))))))
		Expect(metav1.IsControlledBy(w.liveDeployment(ctx), w.owner)).To(BeTrue())
	})

	It("makes no children of an owner that is being deleted", func(ctx SpecContext) {
		w.owner.DeletionTimestamp = ptr.To(metav1.Now())
		requests.take()
		_, err := w.pass(ctx)
		Expect(err).To(MatchError(apply.ErrTerminating))
		Expect(requests.take()).To(BeEmpty())
	})

	It("refuses a duplicate list key before any request", engineCase, func(ctx SpecContext) {
		w.env = []*corev1ac.EnvVarApplyConfiguration{corev1ac.EnvVar().WithName("MODE").WithValue("loud")}
		requests.take()
		_, err := w.pass(ctx)
		Expect(err).To(MatchError(And(ContainSubstring("env"), ContainSubstring("MODE"), ContainSubstring("duplicate"))))
		Expect(requests.take()).To(BeEmpty())
		Expect(w.remembered).To(BeZero())
	})

	It("reports a selector that cannot change, and writes nothing", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		before := w.liveDeployment(ctx)
		w.selector = map[string]string{"app.kubernetes.io/name": "other"}
		_, err := w.pass(ctx)
		var fixed *apply.Immutable
		Expect(errors.As(err, &fixed)).To(BeTrue())
		Expect(fixed.Field).To(Equal("spec.selector"))
		Expect(w.liveDeployment(ctx).ResourceVersion).To(Equal(before.ResourceVersion))
	})

	It("names the kind that the cluster does not serve", func(ctx SpecContext) {
		child := w.renderService()
		child.APIVersion = ptr.To("nothing.example.com/v1")
		_, err := engine.Converge(ctx, w.owner, nil, append(w.children(), child), nil, nil)
		Expect(err).To(MatchError(ContainSubstring("nothing.example.com")))
		Expect(strings.Count(err.Error(), "\n")).To(BeZero())
	})
})
