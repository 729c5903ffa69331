package server_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
)

const (
	operatorUser  = "terdut-operator"
	controllerDir = "../../../controllers/terdut/server"
	// patience is how long something may take that takes no time on an idle
	// machine.
	patience = 30 * time.Second
	poll     = 50 * time.Millisecond
)

// plane is the control plane of the suite, admin its administrator's client and
// operatorConfig the access of the operator's user.
var (
	plane          *controlplane.ControlPlane
	admin          client.Client
	operatorConfig *rest.Config
	scheme         = runtime.NewScheme()
)

func TestServer(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "the TerdutServer controller", Label("L1"))
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, apiextensionsv1.AddToScheme} {
		Expect(add(scheme)).To(Succeed())
	}
	usage, err := rbac.Record("server")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(usage.Save)
	plane, err = controlplane.Start(ctx, controlplane.Options{
		AuditLog: usage.AuditLog(),
		CRDPaths: []string{filepath.Join("..", "..", "..", "config", "crd")},
		Log:      os.Stderr,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	config := rest.CopyConfig(plane.Config)
	config.QPS, config.Burst = 1000, 2000
	admin, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	operatorConfig, err = plane.AddUser(operatorUser)
	Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: operatorUser}, Rules: markedRules()}
	Expect(admin.Create(ctx, role)).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operatorUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
	})).To(Succeed())
})
