package install_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/config/crd"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
	"git.ryuvia.com/niklas/terdut-operator/test/helm"
)

// release is the name of every release, and so of the operator's objects.
const release = "terdut-operator"

// world is one helm and the namespaces that it works with.
type world struct {
	*helm.Helm
	// system is the namespace of the release, oncall that of servers.
	system, oncall string
}

// newWorld makes the namespaces, with what a server needs; helm makes system by
// itself.
func newWorld(ctx context.Context, version, name string) *world {
	GinkgoHelper()
	h, err := helm.New(ctx, version, plane.AdminKubeconfig(), GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	w := &world{Helm: h, system: "terdut-" + name + "-" + version, oncall: "oncall-" + name + "-" + version}
	Expect(admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.oncall}})).To(Succeed())
	Expect(admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.oncall, Name: "terdut-database"},
		StringData: map[string]string{"password": "a canary of the chart"},
	})).To(Succeed())
	return w
}

// helm runs a helm command on the release.
func (w *world) helm(ctx context.Context, command string, args ...string) string {
	GinkgoHelper()
	all := append([]string{command, release, "--namespace=" + w.system}, args...)
	output, err := w.Run(ctx, all...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

// withServer are helm's arguments for one TerdutServer.
func (w *world) withServer(more ...string) []string {
	return append([]string{
		chart, "--set=server.enabled=true", "--set=server.namespace=" + w.oncall,
		"--set=server.database.dsn=postgres://terdut@db:5432/terdut?sslmode=require",
		"--set=server.database.passwordSecret.name=terdut-database",
	}, more...)
}

// server is the TerdutServer of the release.
func (w *world) server() *v1alpha1.TerdutServer {
	return &v1alpha1.TerdutServer{ObjectMeta: metav1.ObjectMeta{Namespace: w.oncall, Name: "terdut"}}
}

// child is the Deployment that the operator makes for it.
func (w *world) child() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.oncall, Name: "terdut"}}
}

// operator is the Deployment of the operator.
func (w *world) operator() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.system, Name: release}}
}

// runOperator plays the kubelet for one pod of the operator: the binary with
// the Deployment's arguments, as its ServiceAccount. It returns the log.
func (w *world) runOperator(ctx context.Context) (log *gbytes.Buffer, stop func()) {
	GinkgoHelper()
	deployment := w.operator()
	Expect(read(ctx, deployment)).To(Succeed())
	pod := deployment.Spec.Template.Spec
	// No ports: the next operator would find them taken. The namespace of the
	// lease is read from a file that only pods have.
	args := append(pod.Containers[0].Args,
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--leader-election-namespace="+w.system, "--resync=1s")
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfigOf(pod.ServiceAccountName))
	log = gbytes.NewBuffer()
	GinkgoWriter.TeeTo(log)
	output := said.Tee(log)
	cmd.Stdout, cmd.Stderr = output, output
	running, err := process.Start(cmd)
	Expect(err).NotTo(HaveOccurred())
	stop = func() {
		GinkgoHelper()
		running.Stop(patience)
		GinkgoWriter.Println(string(log.Contents()))
		Expect(string(log.Contents())).NotTo(ContainSubstring("forbidden"), "the chart's roles must allow all that the operator does")
	}
	return log, stop
}

// kubeconfigOf is a kubeconfig file for a ServiceAccount of the release's
// namespace.
func (w *world) kubeconfigOf(account string) string {
	GinkgoHelper()
	raw, err := plane.Kubeconfig(nil)
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.Load(raw)
	Expect(err).NotTo(HaveOccurred())
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + w.system + ":" + account
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + w.system, "system:authenticated"}
	}
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

func read(ctx context.Context, object client.Object) error {
	return admin.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// gone asks whether an object is gone.
func gone(ctx context.Context, object client.Object) func() bool {
	return func() bool { return apierrors.IsNotFound(read(ctx, object)) }
}

// definitions are our custom resource definitions in the cluster.
func definitions(ctx context.Context) []apiextensionsv1.CustomResourceDefinition {
	GinkgoHelper()
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	Expect(admin.List(ctx, list)).To(Succeed())
	return slices.DeleteFunc(list.Items, func(d apiextensionsv1.CustomResourceDefinition) bool {
		return d.Spec.Group != v1alpha1.SchemeGroupVersion.Group
	})
}

// removeDefinitions removes the custom resource definitions, with every object.
func removeDefinitions(ctx context.Context) {
	GinkgoHelper()
	all, err := crd.All()
	Expect(err).NotTo(HaveOccurred())
	for _, definition := range all {
		Expect(client.IgnoreNotFound(admin.Delete(ctx, definition))).To(Succeed())
	}
	Eventually(func() []apiextensionsv1.CustomResourceDefinition { return definitions(ctx) }).Should(BeEmpty())
}

// cleanUp removes what a failed spec may have left, finalizers included.
func cleanUp(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() error { _, err := releaseAll(ctx); return err }).Should(Succeed())
	removeDefinitions(ctx)
}

// terminating are the objects in the namespace of servers that are being
// deleted.
func (w *world) terminating(ctx context.Context) []string {
	GinkgoHelper()
	var names []string
	for _, kind := range []client.ObjectList{&v1alpha1.TerdutServerList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.SecretList{}} {
		for _, item := range list(ctx, kind, client.InNamespace(w.oncall)) {
			if item.DeletionTimestamp != nil {
				names = append(names, item.Kind+" "+item.Name)
			}
		}
	}
	return names
}

// leftBehind are the objects that the operator or the chart made, in the world's
// namespaces and in none.
func (w *world) leftBehind(ctx context.Context) []string {
	GinkgoHelper()
	var names []string
	for _, kind := range []client.ObjectList{
		&appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.SecretList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
	} {
		for _, manager := range []string{v1alpha1.ManagedBy, "Helm"} {
			for _, item := range list(ctx, kind, client.MatchingLabels{v1alpha1.LabelManagedBy: manager}) {
				if slices.Contains([]string{w.system, w.oncall, ""}, item.Namespace) {
					names = append(names, item.Kind+" "+item.Name)
				}
			}
		}
	}
	return names
}

// list reads the metadata of the objects of a kind, and sets the kind.
func list(ctx context.Context, kind client.ObjectList, options ...client.ListOption) []metav1.PartialObjectMetadata {
	GinkgoHelper()
	gvk, err := admin.GroupVersionKindFor(kind)
	Expect(err).NotTo(HaveOccurred())
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(gvk)
	Expect(admin.List(ctx, found, options...)).To(Succeed())
	for i := range found.Items {
		found.Items[i].Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	return found.Items
}
