package apply_test

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
)

var _ = Describe("ApplySecret", func() {
	var owner *corev1.ConfigMap
	var want apply.SecretIntent

	BeforeEach(func(ctx SpecContext) {
		owner = newOwner(ctx)
		want = apply.SecretIntent{
			Name: "key", Labels: labels, Annotations: map[string]string{"terdut.test/id": "7"},
			Data: map[string][]byte{"key": []byte("canary-one"), "url": []byte("http://demo")},
		}
	})
	read := func(ctx context.Context) *corev1.Secret {
		GinkgoHelper()
		secret, err := engine.ReadSecret(ctx, owner.Namespace, want.Name)
		Expect(err).NotTo(HaveOccurred())
		return secret
	}

	It("makes the Secret, owned, and does nothing the second time", func(ctx SpecContext) {
		Expect(read(ctx)).To(BeNil())
		made, err := engine.ApplySecret(ctx, owner, nil, want)
		Expect(err).NotTo(HaveOccurred())
		Expect(made.Data).To(Equal(want.Data))
		Expect(made.Type).To(Equal(corev1.SecretTypeOpaque))
		Expect(metav1.IsControlledBy(made, owner)).To(BeTrue())
		live := read(ctx)
		Expect(live.UID).To(Equal(made.UID))

		requests.take()
		again, err := engine.ApplySecret(ctx, owner, live, want)
		Expect(err).NotTo(HaveOccurred())
		Expect(again.ResourceVersion).To(Equal(made.ResourceVersion))
		Expect(requests.take()).To(BeEmpty())
	})

	It("rotates a value, removes a key, and keeps what others added", func(ctx SpecContext) {
		made, err := engine.ApplySecret(ctx, owner, nil, want)
		Expect(err).NotTo(HaveOccurred())
		made.Data["foreign"] = []byte("theirs")
		Expect(admin.Update(ctx, made)).To(Succeed())

		want.Data = map[string][]byte{"key": []byte("canary-two")}
		applied, err := engine.ApplySecret(ctx, owner, read(ctx), want)
		Expect(err).NotTo(HaveOccurred())
		Expect(applied.Data).To(Equal(map[string][]byte{"key": []byte("canary-two"), "foreign": []byte("theirs")}))
		Expect(read(ctx).Data).To(Equal(applied.Data))
	})

	It("takes back a field, and names who took it", func(ctx SpecContext) {
		made, err := engine.ApplySecret(ctx, owner, nil, want)
		Expect(err).NotTo(HaveOccurred())
		none, err := engine.ForeignFields(owner, made, want)
		Expect(err).NotTo(HaveOccurred())
		Expect(none).To(BeEmpty())

		made.Data["key"] = []byte("stolen")
		Expect(admin.Update(ctx, made, client.FieldOwner("thief"))).To(Succeed())
		live := read(ctx)
		taken, err := engine.ForeignFields(owner, live, want)
		Expect(err).NotTo(HaveOccurred())
		Expect(taken).To(ConsistOf(And(HaveField("Path", "data.key"), HaveField("Manager", "thief"), HaveField("Operation", "Update"))))
		applied, err := engine.ApplySecret(ctx, owner, live, want)
		Expect(err).NotTo(HaveOccurred())
		Expect(applied.Data).To(HaveKeyWithValue("key", []byte("canary-one")))
	})

	It("owns it again when its managedFields were cleared, and removes what the intent drops", engineCase, func(ctx SpecContext) {
		made, err := engine.ApplySecret(ctx, owner, nil, want)
		Expect(err).NotTo(HaveOccurred())
		cleared := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))
		Expect(admin.Patch(ctx, made, cleared)).To(Succeed())
		Expect(read(ctx).ManagedFields).To(BeEmpty())
		foreign, err := engine.ForeignFields(owner, read(ctx), want)
		Expect(err).NotTo(HaveOccurred())
		Expect(foreign).To(BeEmpty())

		want.Data = map[string][]byte{"key": []byte("canary-two")}
		applied, err := engine.ApplySecret(ctx, owner, read(ctx), want)
		Expect(err).NotTo(HaveOccurred())
		Expect(applied.Data).To(Equal(map[string][]byte{"key": []byte("canary-two"), "url": []byte("http://demo")}))

		By("doing so for what was wanted when it owned it again")
		want.Data["url"] = []byte("http://demo")
		_, err = engine.ApplySecret(ctx, owner, read(ctx), want)
		Expect(err).NotTo(HaveOccurred())
		delete(want.Data, "url")
		applied, err = engine.ApplySecret(ctx, owner, read(ctx), want)
		Expect(err).NotTo(HaveOccurred())
		Expect(applied.Data).To(Equal(map[string][]byte{"key": []byte("canary-two")}))
	})

	It("refuses a Secret that the owner does not control", func(ctx SpecContext) {
		stranger := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: want.Name}}
		Expect(admin.Create(ctx, stranger)).To(Succeed())
		_, err := engine.ApplySecret(ctx, owner, read(ctx), want)
		var refused *apply.Refused
		Expect(errors.As(err, &refused)).To(BeTrue())

		By("not merging into it when it was believed absent either")
		_, err = engine.ApplySecret(ctx, owner, nil, want)
		Expect(apply.IsLookAgain(err)).To(BeTrue(), "%v", err)
		Expect(read(ctx).ResourceVersion).To(Equal(stranger.ResourceVersion))
	})

	It("means exactly the version that was read", func(ctx SpecContext) {
		made, err := engine.ApplySecret(ctx, owner, nil, want)
		Expect(err).NotTo(HaveOccurred())
		before := read(ctx)
		made.Labels["else"] = "true"
		Expect(admin.Update(ctx, made)).To(Succeed())
		want.Data["key"] = []byte("canary-two")
		_, err = engine.ApplySecret(ctx, owner, before, want)
		Expect(apply.IsLookAgain(err)).To(BeTrue(), "%v", err)
		Expect(read(ctx).Data).To(HaveKeyWithValue("key", []byte("canary-one")))

		By("not making it again once it is deleted")
		before = read(ctx)
		Expect(admin.Delete(ctx, made)).To(Succeed())
		_, err = engine.ApplySecret(ctx, owner, before, want)
		Expect(apply.IsLookAgain(err)).To(BeTrue(), "%v", err)
		Expect(read(ctx)).To(BeNil())
	})

	It("shows no value in an error", func(ctx SpecContext) {
		quoting := apply.New(apply.Options{
			Live: admin, Scheme: admin.Scheme(),
			Client: interceptor.NewClient(admin, interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return apierrors.NewForbidden(corev1.Resource("secrets"), "key", errors.New("policy forbids canary-one"))
				},
			}),
		})
		_, err := quoting.ApplySecret(ctx, owner, nil, want)
		Expect(apierrors.IsForbidden(err)).To(BeTrue())
		Expect(err).NotTo(MatchError(ContainSubstring("canary")))
	})
})

var _ = Describe("a Secret without keys among the children", func() {
	It("is updated when its value changes and corrected when somebody else changes it", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.only = []string{"Secret"}
		w.settle(ctx)
		w.url = "http://other"
		Expect(w.settle(ctx).Changes).To(ConsistOf(HaveField("Action", apply.Updated)))

		live := &corev1.Secret{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.owner.Namespace, Name: "demo"}, live)).To(Succeed())
		live.Data["url"] = []byte("http://evil")
		Expect(admin.Update(ctx, live, client.FieldOwner("thief"))).To(Succeed())
		w.caughtUp(ctx, apply.Report{Live: map[apply.Key]client.Object{{Kind: "Secret"}: live}})
		Expect(w.settle(ctx).Changes).To(ConsistOf(And(
			HaveField("Action", apply.Corrected),
			HaveField("Fields", ConsistOf(And(HaveField("Path", "data.url"), HaveField("Manager", "thief")))))))
	})
})
