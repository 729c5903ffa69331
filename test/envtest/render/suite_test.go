package render_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/localnode"
	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
)

const (
	root = "../../.."
	// operatorUser is who the operator is for the API server, and its field
	// manager.
	operatorUser = "terdut-operator"
	// goodImage starts and is healthy, crashImage ends with exit code 3.
	goodImage  = "registry.example.com/good"
	crashImage = "registry.example.com/crash"
	// patience is how long something may take that takes little on an idle
	// machine.
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond
)

// plane is the control plane of the suite, admin its administrator's client and
// operatorConfig the access of the operator's user.
var (
	plane          *controlplane.ControlPlane
	admin          client.Client
	operatorConfig *rest.Config
	scheme         = controllers.Scheme()
)

func TestRender(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "what a TerdutServer is rendered to", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	program := filepath.Join(GinkgoT().TempDir(), "server")
	output, err := exec.CommandContext(ctx, "go", "build", "-o", program, filepath.Join(root, "test/localnode/testdata/server")).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)

	usage, err := rbac.Record("render")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(usage.Save)
	plane, err = controlplane.Start(ctx, controlplane.Options{
		AuditLog:    usage.AuditLog(),
		CRDPaths:    []string{filepath.Join(root, "config", "crd")},
		Controllers: controlplane.WorkloadControllers(),
		Log:         os.Stderr,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	config := rest.CopyConfig(plane.Config)
	config.QPS, config.Burst = 1000, 2000
	admin, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	node, err := localnode.Start(ctx, localnode.Options{
		Config: plane.Config,
		Images: map[string][]string{goodImage: {program}, crashImage: {"sh", "-c", "exit 3"}},
		Log:    GinkgoWriter,
		// The crash must be seen again and again within the patience.
		MaxBackOff: time.Second,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(node.Stop()).To(Succeed()) })
	operatorConfig, err = plane.AddUser(operatorUser)
	Expect(err).NotTo(HaveOccurred())
	bindRole(ctx)
})

// bindRole gives the operator's user the generated role.
func bindRole(ctx SpecContext) {
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
