package controlplane_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

// patience is how long real controllers may take on a machine that is busy with other things.
const patience = 60 * time.Second

var _ = Describe("a control plane", func() {
	var namespace string

	BeforeEach(func(ctx SpecContext) {
		made, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "plane-"},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		namespace = made.Name
	})

	secret := func(name string, owners ...metav1.OwnerReference) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, OwnerReferences: owners}}
	}
	owner := func(of *corev1.Secret) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "Secret", Name: of.Name, UID: of.UID}
	}

	It("reports the version that the sources pin", func() {
		version, err := admin.Discovery().ServerVersion()
		Expect(err).NotTo(HaveOccurred())
		Expect(version.GitVersion).To(Equal(plane.Assets.Version))
	})

	It("collects what a deleted owner leaves", func(ctx SpecContext) {
		secrets := admin.CoreV1().Secrets(namespace)
		first, err := secrets.Create(ctx, secret("owner"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = secrets.Create(ctx, secret("owned", owner(first)), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())

		Expect(secrets.Delete(ctx, first.Name, metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() bool {
			_, getErr := secrets.Get(ctx, "owned", metav1.GetOptions{})
			return apierrors.IsNotFound(getErr)
		}).WithTimeout(patience).Should(BeTrue())
	})

	It("finishes the deletion of a namespace", func(ctx SpecContext) {
		_, err := admin.CoreV1().Secrets(namespace).Create(ctx, secret("inside"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())

		Expect(admin.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() bool {
			_, getErr := admin.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			return apierrors.IsNotFound(getErr)
		}).WithTimeout(patience).Should(BeTrue())
	})

	It("refuses a user without rights", func(ctx SpecContext) {
		config, err := plane.AddUser("nobody")
		Expect(err).NotTo(HaveOccurred())
		_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	})

	It("refuses to block an owner's deletion without the right to its finalizers", func(ctx SpecContext) {
		first, err := admin.CoreV1().Secrets(namespace).Create(ctx, secret("owner"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		config, err := plane.AddUser("writer")
		Expect(err).NotTo(HaveOccurred())
		writer := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets(namespace)

		grant(ctx, namespace, "writer", "secrets", "create")
		blocking := owner(first)
		blocking.BlockOwnerDeletion = ptr.To(true)
		Eventually(func() error {
			_, createErr := writer.Create(ctx, secret("plain", owner(first)), metav1.CreateOptions{})
			return createErr
		}).WithTimeout(patience).Should(Succeed(), "the grant reaches the authorizer through a watch")
		_, err = writer.Create(ctx, secret("blocking", blocking), metav1.CreateOptions{})
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)

		grant(ctx, namespace, "writer", "secrets/finalizers", "update")
		Eventually(func() error {
			_, createErr := writer.Create(ctx, secret("blocking", blocking), metav1.CreateOptions{})
			return createErr
		}).WithTimeout(patience).Should(Succeed())
	})

	It("writes who did what into the audit log", func(ctx SpecContext) {
		config, err := plane.AddUser("audited")
		Expect(err).NotTo(HaveOccurred())
		_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Secrets(namespace).Get(ctx, "none", metav1.GetOptions{})
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		content, err := os.ReadFile(auditLog)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(content)).To(ContainSubstring(`"username":"audited"`))
	})

	It("gives kubectl and kubeconfig files access", func(ctx SpecContext) {
		output, err := plane.Kubectl(ctx, "get", "namespace", namespace, "-o", "json").Output()
		Expect(err).NotTo(HaveOccurred())
		var found corev1.Namespace
		Expect(json.Unmarshal(output, &found)).To(Succeed())
		Expect(found.Name).To(Equal(namespace))

		path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(plane.KubeconfigFile(path, nil)).To(Succeed())
		config, err := clientcmd.BuildConfigFromFlags("", path)
		Expect(err).NotTo(HaveOccurred())
		_, err = kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
	})
})

// grant gives a user one verb on one resource of a namespace.
func grant(ctx SpecContext, namespace, user, resource, verb string) {
	GinkgoHelper()
	role, err := admin.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "grant-"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{verb}}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = admin.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "grant-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}
