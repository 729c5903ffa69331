package deletion_test

import (
	"context"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

const (
	suite = "deletion"
	// resync bounds the pause between two tries of a deletion.
	resync = 3 * time.Second
)

var (
	env *testenv.Env
	// seen is the API server as a watch shows it. Looking is free.
	seen cache.Cache
	// ahead is how far the operator's clock is ahead, in nanoseconds.
	ahead atomic.Int64
)

func TestDeletion(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "deletion always ends", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(testenv.Log(io.MultiWriter(GinkgoWriter, said)))))
	Expect(figures.Start(suite)).To(Succeed())
	var err error
	env, err = testenv.Start(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Stop()).To(Succeed()) })
	watch(ctx)
	_, err = env.StartOperator(controllers.Options{Resync: resync, Clock: now})
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterEach(func() {
	Expect(env.Requests.Forbidden()).To(BeEmpty(), "the generated role must allow everything that the operator asks for")
})

// now is the operator's clock.
func now() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }

// watch starts the cache behind seen.
func watch(ctx context.Context) {
	GinkgoHelper()
	var err error
	seen, err = cache.New(env.Plane.Config, cache.Options{Scheme: controllers.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	for _, o := range []client.Object{
		&v1alpha1.TerdutServer{}, &v1alpha1.TerdutTeam{}, &v1alpha1.TerdutEscalationRule{}, &v1alpha1.TerdutDeadmanSwitch{},
		&v1alpha1.TerdutAlertSource{}, &corev1.Namespace{}, &corev1.Secret{}, &eventsv1.Event{},
	} {
		_, err = seen.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		Expect(err).NotTo(HaveOccurred())
	}
	watching, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- seen.Start(watching) }()
	DeferCleanup(func() {
		end()
		Expect(<-ended).To(Succeed())
	})
	Expect(seen.WaitForCacheSync(ctx)).To(BeTrue())
}

// releases is how many objects the operator has let go without cleaning up.
func releases() float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for _, family := range families {
		if family.GetName() != "terdut_released_without_cleanup_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			total += m.GetCounter().GetValue()
		}
	}
	return total
}
