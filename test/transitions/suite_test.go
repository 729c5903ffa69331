package transitions_test

import (
	"context"
	"os"
	"runtime/debug"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

const (
	suite = "transitions"
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 2 * time.Minute
	poll     = 50 * time.Millisecond
	// resync is what nothing here waits for: looks at hundreds of settled objects
	// would take the time of those that change.
	resync = time.Hour

	// certificate is one that has signed nothing.
	certificate = `-----BEGIN CERTIFICATE-----
MIIBhzCCAS2gAwIBAgIUKdBI4y6aAPIqqBhKJvN/3p9W93MwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNc29tZWJvZHkgZWxzZTAgFw0yNjExMzAwNzQ3MjlaGA8yMTI2
MTEwNjA3NDcyOVowGDEWMBQGA1UEAwwNc29tZWJvZHkgZWxzZTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABKH6H/rvfS1y+6qhFlkOBpXNE6YcIwwR8CN/BwiRq9KT
oOd/4+okTUncZS2GO/TOQlLVEsvrI8Fc9pFoYyYw906jUzBRMB0GA1UdDgQWBBSt
y9hCVKy455joU372YZbk+pkdPTAfBgNVHSMEGDAWgBSty9hCVKy455joU372YZbk
+pkdPTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIENR83+P7Q+Z
rNP41oKn4b6RaCqk6aUY0JDD9RZCUf37AiEAlG1A3H3c2UXP2CSa3nf/2Ic4AjZT
3n7G1Krs7ezb54s=
-----END CERTIFICATE-----
`
)

var (
	env *testenv.Env
	// seen is the API server as a watch shows it. Looking is free.
	seen cache.Cache
)

func TestTransitions(t *testing.T) {
	debug.SetGCPercent(400) // there is memory enough, and of processors few
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "transitions of every field", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(testenv.Log(GinkgoWriter))))
	Expect(figures.Start(suite)).To(Succeed())
	GinkgoT().Setenv("GOGC", "400") // what the control plane inherits; as for this process
	var err error
	env, err = testenv.Start(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Stop()).To(Succeed()) })
	_, err = envtest.InstallCRDs(env.Plane.Config, envtest.CRDInstallOptions{Paths: []string{testenv.Path("test", "crds")}})
	Expect(err).NotTo(HaveOccurred())
	watch(ctx)
	_, err = env.StartOperator(controllers.Options{Resync: resync})
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterEach(func() {
	Expect(env.Requests.Forbidden()).To(BeEmpty(), "the generated role must allow everything that the operator asks for")
})

// watch starts the cache behind seen.
func watch(ctx context.Context) {
	GinkgoHelper()
	var err error
	seen, err = cache.New(env.Plane.Config, cache.Options{Scheme: controllers.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	watched := []client.Object{&v1alpha1.TerdutServer{}}
	for _, gvk := range looked {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		watched = append(watched, object)
	}
	for _, o := range watched {
		informer, err := seen.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		Expect(err).NotTo(HaveOccurred())
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: noticed, DeleteFunc: noticed, UpdateFunc: func(_, now any) { noticed(now) },
		})
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
