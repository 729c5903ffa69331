package database_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/localnode"
	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
)

const (
	operatorUser = "terdut-operator"
	// resync is long: what a spec waits for must be watched.
	resync = time.Hour
	// optionalPeriod is short, a minute in earnest.
	optionalPeriod = 250 * time.Millisecond
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond

	// image keeps its state in the database, looseImage ignores that.
	image      = "git.ryuvia.com/niklas/terdut-server"
	looseImage = "registry.example.com/without-database"
)

var (
	root  = filepath.Join("..", "..", "..")
	admin client.Client
	node  *localnode.Node
	// access is that of the operator's user.
	access *rest.Config
	// running is the operator.
	running *operator
)

func TestDatabase(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "the database of a TerdutServer", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	usage, err := rbac.Record("database")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(usage.Save)
	plane, err := controlplane.Start(ctx, controlplane.Options{
		AuditLog: usage.AuditLog(),
		CRDPaths: []string{filepath.Join(root, "config", "crd")}, Controllers: controlplane.WorkloadControllers(), Log: os.Stderr,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	config := rest.CopyConfig(plane.Config)
	config.QPS, config.Burst = 1000, 2000
	admin, err = client.New(config, client.Options{Scheme: controllers.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	access, err = plane.AddUser(operatorUser)
	Expect(err).NotTo(HaveOccurred())
	bindRole(ctx)

	server := buildServer(ctx)
	node, err = localnode.Start(ctx, localnode.Options{
		Config: config,
		Images: map[string][]string{image: {server}, looseImage: {"env", "REFSERVER_IGNORE_DATABASE=true", server}},
		Log:    GinkgoWriter,
		// A container that cannot connect is tried again soon.
		MaxBackOff: time.Second,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(node.Stop()).To(Succeed()) })
	running = start()
	DeferCleanup(func() { running.stop() })
})

// bindRole gives the operator's user the generated role and nothing else.
func bindRole(ctx context.Context) {
	GinkgoHelper()
	raw, err := os.ReadFile(filepath.Join(root, "config", "rbac", "role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	Expect(yaml.UnmarshalStrict(raw, role)).To(Succeed())
	Expect(admin.Create(ctx, role)).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operatorUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
	})).To(Succeed())
}

// buildServer builds the reference server.
func buildServer(ctx context.Context) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "refserver")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./test/refserver/cmd/refserver")
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return path
}

// operator is one incarnation of the whole operator.
type operator struct{ stop func() }

func start() *operator {
	GinkgoHelper()
	options := controllers.ManagerOptions()
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	options.Controller.SkipNameValidation = ptr.To(true)
	mgr, err := ctrl.NewManager(access, options)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	Expect(controllers.Register(ctx, mgr, controllers.Options{
		Resync: resync, OptionalPeriod: optionalPeriod, Proxy: node.ProxyURL(), AllowLoopback: true,
	})).To(Succeed())
	ended := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		Expect(mgr.Start(ctx)).To(Succeed())
	}()
	return &operator{stop: func() { cancel(); <-ended }}
}

// restart ends the operator, does something, and starts another one.
func restart(between func()) {
	GinkgoHelper()
	running.stop()
	between()
	running = start()
}
