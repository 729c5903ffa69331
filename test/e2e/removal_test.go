package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// onServers are the custom resources that live on servers, in the order of docs/install.md, and kinds are all.
const (
	onServers = "terdutteams,terdutescalationrules,terdutdeadmanswitches,terdutalertsources"
	kinds     = onServers + ",terdutservers"
)

func deleteSample(ctx context.Context) {
	By("deleting what lives on the server, and asking the server")
	w.kubectlOK(ctx, "delete", onServers, "--all", "-n", payments, "--timeout=5m")
	teams, err := w.api(ctx).ListTeams(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(teams).To(BeEmpty())

	By("deleting the server and both namespaces")
	w.kubectlOK(ctx, "delete", kinds, "--all", "-n", platform, "--timeout=5m")
	w.kubectlOK(ctx, "delete", "namespace", payments, platform, "--timeout=5m")
	for _, name := range []string{payments, platform} {
		err = w.kube.Get(ctx, key("", name), &corev1.Namespace{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "namespace %s is gone: %v", name, err)
	}
}

// uninstall takes the operator away while resources are left.
func uninstall(ctx context.Context) {
	w.killer.stop()
	before := w.identities(ctx)
	Expect(before).NotTo(BeEmpty())
	_, err := w.helm.Run(ctx, "uninstall", release, "--namespace", system, "--wait", "--timeout", "3m")
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, func() string { return w.kubectlOK(ctx, "get", "pods", "-n", system, "-o", "name") }).Should(BeEmpty())
	Expect(w.identities(ctx)).To(Equal(before), "no resource is touched")
	Expect(w.terminating(ctx)).To(BeEmpty())
	Expect(w.definitions(ctx)).To(HaveLen(5))
}

// identities are all custom resources with UID and resourceVersion.
func (w *world) identities(ctx context.Context) []string {
	GinkgoHelper()
	return strings.Fields(w.kubectlOK(ctx, "get", kinds, "-A", "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name}/{.metadata.uid}/{.metadata.resourceVersion}{" "}{end}`))
}

// terminating are the custom resources, definitions and namespaces that are being deleted.
func (w *world) terminating(ctx context.Context) []string {
	GinkgoHelper()
	const path = `jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.kind}/{.metadata.name}{" "}{end}`
	return append(strings.Fields(w.kubectlOK(ctx, "get", kinds, "-A", "-o", path)),
		strings.Fields(w.kubectlOK(ctx, "get", "customresourcedefinitions,namespaces", "-o", path))...)
}

// definitions are our custom resource definitions that the cluster has.
func (w *world) definitions(ctx context.Context) []string {
	GinkgoHelper()
	var ours []string
	for _, name := range strings.Fields(w.kubectlOK(ctx, "get", "customresourcedefinitions", "-o", "name")) {
		if strings.HasSuffix(name, "."+v1alpha1.SchemeGroupVersion.Group) {
			ours = append(ours, strings.TrimPrefix(name, "customresourcedefinition.apiextensions.k8s.io/"))
		}
	}
	return ours
}

// remove brings the operator back and follows docs/install.md: what lives on servers, servers, operator, definitions.
func remove(ctx context.Context) {
	w.upgrade(ctx, w.chart(), w.operator, "--skip-crds")
	w.kubectlOK(ctx, "delete", onServers, "--all", "--all-namespaces", "--timeout=5m")
	w.kubectlOK(ctx, "delete", "terdutservers", "--all", "--all-namespaces", "--timeout=5m")
	_, err := w.helm.Run(ctx, "uninstall", release, "--namespace", system, "--wait", "--timeout", "3m")
	Expect(err).NotTo(HaveOccurred())
	w.kubectlOK(ctx, append([]string{"delete", "customresourcedefinition", "--timeout=3m"}, w.definitions(ctx)...)...)
	w.kubectlOK(ctx, "delete", "namespace", system, legacy, "--timeout=5m")
	Expect(w.definitions(ctx)).To(BeEmpty())
	Expect(w.left(ctx)).To(BeEmpty())
}

// left is everything in the cluster that bears the operator's name as its manager, its application or its release.
func (w *world) left(ctx context.Context) []string {
	GinkgoHelper()
	// What cannot be listed is said in the list of resources: those that can.
	all := strings.Fields(w.kubectlOK(ctx, "api-resources", "--verbs=list", "-o", "name"))
	var names []string
	for _, resource := range all {
		if !strings.HasPrefix(resource, "events") { // they run out by themselves
			names = append(names, resource)
		}
	}
	var found []string
	for _, selector := range []string{
		v1alpha1.LabelManagedBy + "=" + v1alpha1.ManagedBy, "app.kubernetes.io/instance=" + release, "app.kubernetes.io/name=" + release,
	} {
		output := w.kubectlOK(ctx, "get", strings.Join(names, ","), "-A", "-l", selector, "-o", "name", "--ignore-not-found")
		found = append(found, strings.Fields(output)...)
	}
	return found
}

// namespaced installs the operator with Roles in two namespaces and plays the sample in them.
func namespaced(ctx context.Context) {
	for _, name := range []string{system, platform, payments} {
		w.namespace(ctx, name)
	}
	before := w.clusterObjects(ctx)
	w.upgrade(ctx, w.chart(), w.operator, "--set", "watchNamespaces={"+platform+","+payments+"}")
	made := w.clusterObjects(ctx) - before
	Expect(figures.Value(suite, "namespaced-mode-cluster-objects", made, "")).To(Succeed())
	Expect(made).To(BeZero(), "custom resource definitions aside")
	w.sample(ctx)
	w.serverReady(ctx)
	w.createUser(ctx)
	agree(ctx)
	w.kubectlOK(ctx, "delete", onServers, "--all", "-n", payments, "--timeout=5m")
	w.kubectlOK(ctx, "delete", "terdutservers", "--all", "-n", platform, "--timeout=5m")
}

// clusterObjects counts the objects that belong to no namespace, without custom resource definitions and what the cluster
// makes by itself.
func (w *world) clusterObjects(ctx context.Context) int {
	GinkgoHelper()
	var names []string
	for _, resource := range strings.Fields(w.kubectlOK(ctx, "api-resources", "--verbs=list", "--namespaced=false", "-o", "name")) {
		switch resource {
		case "customresourcedefinitions.apiextensions.k8s.io", "nodes", "componentstatuses":
		case "ipaddresses.networking.k8s.io": // one for each Service, made by the API server
		case "apiservices.apiregistration.k8s.io": // one for each group, made by the API server
		default:
			names = append(names, resource)
		}
	}
	return len(strings.Fields(w.kubectlOK(ctx, "get", strings.Join(names, ","), "-o", "name")))
}
