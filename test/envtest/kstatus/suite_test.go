package kstatus_test

import (
	"context"
	"testing"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

const (
	suite    = "kstatus-live"
	resync   = time.Second
	patience = 60 * time.Second
)

var env *steps.Env

func TestKStatus(t *testing.T) {
	steps.Run(t, "what kstatus says", patience)
}

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(figures.Start(suite)).To(Succeed())
	env = steps.Start(ctx)
})

var _ = AfterEach(func() {
	env.ExpectNothingForbidden()
	env.ExpectGuardedStatuses()
})

// world is one of each kind.
type world struct {
	*sample.Full
	peer   *testenv.Peer
	tenant *corev1.Namespace
	server *v1alpha1.TerdutServer
}

// newWorld creates one of each kind.
func newWorld(ctx context.Context) *world {
	GinkgoHelper()
	platform := env.NewNamespace(ctx, "platform", nil)
	w := &world{
		tenant: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenant-", Labels: sample.Admitted()}},
		server: sample.Server(platform),
	}
	env.Create(ctx, w.tenant)
	var err error
	w.peer, err = env.Network.Serve(platform, w.server.Name, refserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	w.Full = sample.FullOf(sample.NamedTeam(w.server, w.tenant.Name, "payments", "Payments"))
	env.Create(ctx, w.all()...)
	return w
}

// all is the server and what lives on it.
func (w *world) all() []client.Object { return append([]client.Object{w.server}, w.Objects()...) }

// secret creates what the server's database needs.
func (w *world) secret(ctx context.Context) {
	GinkgoHelper()
	env.Create(ctx, sample.Password(w.server.Namespace))
}

// reads is what kstatus says about an object as the API server has it now.
func reads(ctx context.Context, o client.Object) func() (kstatus.Status, error) {
	return func() (kstatus.Status, error) {
		kind, err := apiutil.GVKForObject(o, env.Admin.Scheme())
		if err != nil {
			return "", err
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		if err = env.Admin.Get(ctx, client.ObjectKeyFromObject(o), u); err != nil {
			return "", err
		}
		result, err := kstatus.Compute(u)
		if err != nil {
			return "", err
		}
		return result.Status, nil
	}
}
