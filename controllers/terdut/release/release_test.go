package release

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// The command itself is run on a real API server, in test/chart/install; here
// is what others may do at the same time.

func newClient(funcs interceptor.Funcs, objects ...client.Object) client.Client {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
}

func secret(finalizers ...string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "oncall", Name: "key", Finalizers: finalizers}}
}

func TestFinalizersOfOthersThatComeMeanwhileStay(t *testing.T) {
	g := NewWithT(t)
	patches := 0
	c := newClient(interceptor.Funcs{Patch: func(ctx context.Context, inner client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
		if patches++; patches == 1 {
			g.Expect(inner.Update(ctx, secret(v1alpha1.Finalizer, "example.com/late"))).To(Succeed())
		}
		return inner.Patch(ctx, o, p, options...)
	}}, secret(v1alpha1.Finalizer))
	var out strings.Builder
	g.Expect(Run(t.Context(), c, Options{Out: &out})).To(Succeed())
	there := secret()
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(there), there)).To(Succeed())
	g.Expect(there.Finalizers).To(ConsistOf("example.com/late"))
	g.Expect(out.String()).To(And(ContainSubstring("off Secret oncall/key\n"), ContainSubstring("1 objects released")))
}

func TestOneThatFailsDoesNotHoldUpTheOthers(t *testing.T) {
	g := NewWithT(t)
	other := secret(v1alpha1.Finalizer)
	other.Name = "other"
	c := newClient(interceptor.Funcs{Patch: func(ctx context.Context, inner client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
		if o.GetName() == "key" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "key", nil)
		}
		return inner.Patch(ctx, o, p, options...)
	}}, secret(v1alpha1.Finalizer), other)
	var out strings.Builder
	g.Expect(Run(t.Context(), c, Options{Out: &out})).To(MatchError(ContainSubstring("release Secret oncall/key")))
	g.Expect(out.String()).To(And(ContainSubstring("off Secret oncall/other"), ContainSubstring("1 objects released")))
}

func TestHeldLeases(t *testing.T) {
	now := metav1.NowMicro()
	for name, c := range map[string]struct {
		spec    coordinationv1.LeaseSpec
		force   bool
		refused bool
	}{
		"held":     {coordinationv1.LeaseSpec{HolderIdentity: ptr.To("pod"), RenewTime: &now, LeaseDurationSeconds: ptr.To[int32](3600)}, false, true},
		"forced":   {coordinationv1.LeaseSpec{HolderIdentity: ptr.To("pod"), RenewTime: &now, LeaseDurationSeconds: ptr.To[int32](3600)}, true, false},
		"given up": {coordinationv1.LeaseSpec{HolderIdentity: ptr.To(""), RenewTime: &now, LeaseDurationSeconds: ptr.To[int32](1)}, false, false},
		"run out": {coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("pod"), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-time.Hour))), LeaseDurationSeconds: ptr.To[int32](15),
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "terdut-system", Name: "terdut-operator"}, Spec: c.spec}
			var out strings.Builder
			err := Run(t.Context(), newClient(interceptor.Funcs{}, lease), Options{Lease: "terdut-operator", Force: c.force, Out: &out})
			if c.refused {
				g.Expect(err).To(MatchError(And(ContainSubstring("terdut-system/terdut-operator as pod"), ContainSubstring("--force"))))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}
