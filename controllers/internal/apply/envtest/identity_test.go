package apply_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

// between returns an engine that lets something happen between its last look and its first apply.
func between(happens func(ctx context.Context)) *apply.Engine {
	GinkgoHelper()
	done := false
	racing := interceptor.NewClient(admin, interceptor.Funcs{
		Apply: func(ctx context.Context, next client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if !done {
				done = true
				happens(ctx)
			}
			return next.Apply(ctx, object, options...)
		},
	})
	return apply.New(apply.Options{Client: racing, Live: admin, Scheme: admin.Scheme()})
}

var _ = Describe("Identity", func() {
	var w *world

	BeforeEach(func(ctx SpecContext) { w = newWorld(ctx) })

	stranger := func(ctx context.Context, references ...metav1.OwnerReference) *corev1.Service {
		GinkgoHelper()
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.owner.Namespace, Name: "demo", OwnerReferences: references},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 81}}},
		}
		Expect(admin.Create(ctx, service)).To(Succeed())
		return service
	}
	untouched := func(ctx context.Context, object *corev1.Service) {
		GinkgoHelper()
		live := &corev1.Service{}
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(object), live)).To(Succeed())
		Expect(live.ResourceVersion).To(Equal(object.ResourceVersion))
	}
	foreign := metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: "another", UID: "6f8f2a1c-0000-4000-8000-000000000000", Controller: ptr.To(true),
	}

	It("refuses a stranger's object, leaves it alone and makes the other children", engineCase, func(ctx SpecContext) {
		service := stranger(ctx)
		report, err := w.pass(ctx)
		var refused *apply.Refused
		Expect(errors.As(err, &refused)).To(BeTrue())
		Expect(refused.Key.String()).To(Equal("Service " + w.owner.Namespace + "/demo"))
		Expect(refused.Holder).To(BeEmpty())
		Expect(apply.IsLookAgain(err)).To(BeFalse())
		untouched(ctx, service)
		Expect(report.Changes).To(HaveLen(2))
		Expect(w.record("Service").UID).To(BeEmpty())

		By("refusing it again although its name is recorded by now")
		_, err = w.pass(ctx)
		Expect(errors.As(err, &refused)).To(BeTrue())
		untouched(ctx, service)

		By("not deleting it when it is no longer rendered")
		w.only = []string{"Secret", "Deployment"}
		report = w.settle(ctx)
		Expect(report.Changes).To(BeEmpty())
		Expect(report.Records).To(HaveLen(2))
		untouched(ctx, service)
	})

	It("refuses an object that another object controls, even when its UID is recorded", engineCase, func(ctx SpecContext) {
		service := stranger(ctx, foreign)
		w.records = []apply.Record{{Kind: "Service", Name: "demo", UID: service.UID}}
		_, err := w.pass(ctx)
		var refused *apply.Refused
		Expect(errors.As(err, &refused)).To(BeTrue())
		Expect(refused.Holder).To(Equal("ConfigMap another"))
		untouched(ctx, service)
	})

	It("does not merge into an object that appears after it looked", engineCase, func(ctx SpecContext) {
		for _, same := range []bool{false, true} {
			w = newWorld(ctx)
			var service *corev1.Service
			racing := between(func(ctx context.Context) {
				service = stranger(ctx)
				if same {
					// Without any field in common there is no conflict over fields either.
					service.Spec.Ports = []corev1.ServicePort{{Name: "other", Port: 9}}
					Expect(admin.Update(ctx, service)).To(Succeed())
				}
			})
			_, err := racing.Converge(ctx, w.owner, nil, []runtime.ApplyConfiguration{w.renderService()}, nil, nil)
			Expect(apply.IsLookAgain(err)).To(BeTrue(), "%v", err)
			untouched(ctx, service)
		}
	})

	It("does not make an object again that is deleted after it looked", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		w.image = "registry.test/demo:2"
		racing := between(func(ctx context.Context) { Expect(admin.Delete(ctx, w.liveDeployment(ctx))).To(Succeed()) })
		_, err := racing.Converge(ctx, w.owner, w.records, []runtime.ApplyConfiguration{w.renderDeployment()}, nil, nil)
		Expect(apply.IsLookAgain(err)).To(BeTrue(), "%v", err)
		Expect(apierrors.IsConflict(err)).To(BeTrue())
		gone := admin.Get(ctx, client.ObjectKey{Namespace: w.owner.Namespace, Name: "demo"}, &appsv1.Deployment{})
		Expect(apierrors.IsNotFound(gone)).To(BeTrue())
	})

	It("does not apply to an object that is made again after it looked", engineCase, func(ctx SpecContext) {
		w.settle(ctx)
		w.image = "registry.test/demo:2"
		var again *appsv1.Deployment
		racing := between(func(ctx context.Context) {
			live := w.liveDeployment(ctx)
			Expect(admin.Delete(ctx, live)).To(Succeed())
			again = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: live.Namespace, Name: live.Name}, Spec: live.Spec}
			Expect(admin.Create(ctx, again)).To(Succeed())
		})
		_, err := racing.Converge(ctx, w.owner, w.records, []runtime.ApplyConfiguration{w.renderDeployment()}, nil, nil)
		Expect(apply.IsLookAgain(err)).To(BeTrue(), "%v", err)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(w.liveDeployment(ctx).ResourceVersion).To(Equal(again.ResourceVersion))
	})

	It("leaves a child alone that is being deleted", func(ctx SpecContext) {
		w.settle(ctx)
		live := w.liveDeployment(ctx)
		live.Finalizers = []string{"example.com/hold"}
		Expect(admin.Update(ctx, live)).To(Succeed())
		Expect(admin.Delete(ctx, live)).To(Succeed())
		w.image = "registry.test/demo:2"
		report, err := w.pass(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(report.Changes).To(BeEmpty())
		Expect(report.Object("Deployment", "demo").GetDeletionTimestamp()).NotTo(BeNil())
		live = w.liveDeployment(ctx)
		live.Finalizers = nil
		Expect(admin.Update(ctx, live)).To(Succeed())
	})
})

var _ = Describe("Prune", func() {
	var w *world
	service := func(ctx context.Context) (*corev1.Service, error) {
		live := &corev1.Service{}
		return live, admin.Get(ctx, client.ObjectKey{Namespace: w.owner.Namespace, Name: "demo"}, live)
	}

	BeforeEach(func(ctx SpecContext) {
		w = newWorld(ctx)
		w.settle(ctx)
		w.only = []string{"Secret", "Deployment"}
	})

	It("deletes what is recorded, owned and no longer rendered", func(ctx SpecContext) {
		report := w.settle(ctx)
		Expect(report.Changes).To(ConsistOf(And(HaveField("Action", apply.Deleted), HaveField("Key.Kind", "Service"))))
		_, err := service(ctx)
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
		Expect(report.Records).To(HaveLen(2))
		requests.take()
		w.settle(ctx)
		Expect(requests.take()).To(BeEmpty())
	})

	It("deletes what is recorded without UID, when it is owned", func(ctx SpecContext) {
		w.records = []apply.Record{{Kind: "Service", Name: "demo"}}
		Expect(w.settle(ctx).Changes).To(ConsistOf(HaveField("Action", apply.Deleted)))
	})

	It("keeps what has lost its owner reference, and its record", func(ctx SpecContext) {
		live, err := service(ctx)
		Expect(err).NotTo(HaveOccurred())
		live.OwnerReferences = nil
		Expect(admin.Update(ctx, live)).To(Succeed())
		report := w.settle(ctx)
		Expect(report.Changes).To(BeEmpty())
		Expect(report.Kept).To(ConsistOf(HaveField("Kind", "Service")))
		Expect(w.record("Service").UID).To(Equal(live.UID))
		_, err = service(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	It("keeps what is owned and recorded with another UID, and what is not recorded", func(ctx SpecContext) {
		for i := range w.records {
			if w.records[i].Kind == "Service" {
				w.records[i].UID = "6f8f2a1c-0000-4000-8000-000000000000"
			}
		}
		Expect(w.settle(ctx).Changes).To(BeEmpty())
		Expect(w.records).To(HaveLen(2))
		Expect(w.settle(ctx).Changes).To(BeEmpty())
		_, err := service(ctx)
		Expect(err).NotTo(HaveOccurred())
	})

	It("drops the record of what is gone, and never deletes a kind that is not prunable", func(ctx SpecContext) {
		live, err := service(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(admin.Delete(ctx, live)).To(Succeed())
		w.only = []string{"Deployment"}
		report := w.settle(ctx)
		Expect(report.Changes).To(BeEmpty())
		Expect(report.Records).To(HaveLen(2))
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.owner.Namespace, Name: "demo"}, &corev1.Secret{})).To(Succeed())
	})
})
