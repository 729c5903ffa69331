package localnode_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

var selected = map[string]string{"app": "server"}

// template is a pod that answers probes and takes a password from a Secret.
func template() corev1.PodTemplateSpec {
	probe := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")}},
		PeriodSeconds: 10,
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: selected},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](5),
			Containers: []corev1.Container{{
				Name:  "server",
				Image: image + ":v1",
				Args:  []string{"--plain=$(PLAIN)"},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				Env: []corev1.EnvVar{
					{Name: "PLAIN", Value: "plain"},
					{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "database"}, Key: "password",
					}}},
					{Name: "DSN", Value: "postgres://user:$(PASSWORD)@db/$$x/$(UNKNOWN)"},
					{Name: "NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}},
				},
				ReadinessProbe: probe,
				LivenessProbe:  probe.DeepCopy(),
			}},
		},
	}
}

var _ = Describe("a local node", func() {
	var namespace string

	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })

	putSecret := func(ctx SpecContext, data map[string]string) {
		GinkgoHelper()
		_, err := admin.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "database"}, StringData: data,
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	deploy := func(ctx SpecContext) {
		GinkgoHelper()
		_, err := admin.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "server"},
			Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: selected}, Template: template()},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = admin.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "server"},
			Spec: corev1.ServiceSpec{
				Selector: selected,
				Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}},
			},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
	available := func(ctx SpecContext) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			found, err := admin.AppsV1().Deployments(namespace).Get(ctx, "server", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Status.AvailableReplicas).To(BeEquivalentTo(1))
		}).Should(Succeed())
	}
	onlyPod := func(g Gomega, ctx SpecContext) *corev1.Pod {
		pods, err := admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods.Items).To(HaveLen(1))
		return &pods.Items[0]
	}
	service := func(path string) string { return fmt.Sprintf("http://server.%s.svc%s", namespace, path) }

	It("runs a Deployment with exactly its environment and leads its Service to it", func(ctx SpecContext) {
		const password = "p@ss/w?rd#1 $(PLAIN) ü"
		putSecret(ctx, map[string]string{"password": password})
		deploy(ctx)
		available(ctx)

		var pod *corev1.Pod
		Eventually(func(g Gomega) { pod = onlyPod(g, ctx) }).Should(Succeed())
		var env, args []string
		Eventually(func(g Gomega) { fetch(g, service("/env"), &env) }).Should(Succeed())
		Expect(env).To(ConsistOf(
			"PLAIN=plain",
			"PASSWORD="+password,
			"DSN=postgres://user:"+password+"@db/$x/$(UNKNOWN)",
			"NAMESPACE="+namespace,
			"EXTRA=added",
			"TERDUT_LISTEN_ADDR="+node.Address(namespace, pod.Name),
		))
		fetch(Default, fmt.Sprintf("http://server.%s.svc.cluster.local:80/args", namespace), &args)
		Expect(args).To(Equal([]string{"serve", "--plain=plain"}))
	})

	It("holds a container back until its Secret has the key", func(ctx SpecContext) {
		putSecret(ctx, map[string]string{"other": "value"})
		deploy(ctx)
		Eventually(func(g Gomega) {
			statuses := onlyPod(g, ctx).Status.ContainerStatuses
			g.Expect(statuses).To(HaveLen(1))
			g.Expect(statuses[0].State.Waiting).NotTo(BeNil())
			g.Expect(statuses[0].State.Waiting.Reason).To(Equal("CreateContainerConfigError"))
			g.Expect(statuses[0].State.Waiting.Message).To(ContainSubstring("couldn't find key password in Secret " + namespace + "/database"))
		}).Should(Succeed())
		_, status := get(Default, service("/env"))
		Expect(status).To(Equal(http.StatusServiceUnavailable))

		_, err := admin.CoreV1().Secrets(namespace).Update(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "database"}, StringData: map[string]string{"password": "late"},
		}, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		available(ctx)
	})

	It("starts a process again that crashed", func(ctx SpecContext) {
		putSecret(ctx, map[string]string{"password": "x"})
		deploy(ctx)
		available(ctx)
		Eventually(func(g Gomega) {
			response, err := inside.Post(service("/crash"), "text/plain", nil)
			if err == nil {
				g.Expect(response.Body.Close()).To(Succeed())
			}
			g.Expect(err).To(MatchError(io.EOF), "nobody answers")
		}).Should(Succeed())
		Eventually(func(g Gomega) {
			status := onlyPod(g, ctx).Status.ContainerStatuses[0]
			g.Expect(status.RestartCount).To(BeNumerically(">=", 1))
			g.Expect(status.LastTerminationState.Terminated).NotTo(BeNil())
			g.Expect(status.LastTerminationState.Terminated.ExitCode).To(BeEquivalentTo(3))
			g.Expect(status.Ready).To(BeTrue())
		}).Should(Succeed())
		available(ctx)
	})

	It("ends the process of a deleted pod", func(ctx SpecContext) {
		putSecret(ctx, map[string]string{"password": "x"})
		deploy(ctx)
		available(ctx)
		var pod *corev1.Pod
		Eventually(func(g Gomega) { pod = onlyPod(g, ctx) }).Should(Succeed())
		address := node.Address(namespace, pod.Name)
		Expect(address).NotTo(BeEmpty())

		Expect(admin.AppsV1().Deployments(namespace).Delete(ctx, "server", metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() bool {
			_, err := admin.CoreV1().Pods(namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}).Should(BeTrue())
		_, err := net.Dial("tcp", address)
		Expect(err).To(HaveOccurred())
		body, status := get(Default, service("/env"))
		Expect(status).To(Equal(http.StatusServiceUnavailable))
		Expect(body).To(ContainSubstring("no endpoints"))
	})

	It("reports an image that it does not know", func(ctx SpecContext) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "stranger"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "stranger:v1"}}},
		}
		_, err := admin.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(g Gomega) {
			found := onlyPod(g, ctx)
			g.Expect(found.Status.Phase).To(Equal(corev1.PodPending))
			g.Expect(found.Status.ContainerStatuses).To(HaveLen(1))
			g.Expect(found.Status.ContainerStatuses[0].State.Waiting.Reason).To(Or(Equal("ErrImagePull"), Equal("ImagePullBackOff")))
		}).Should(Succeed())
		Expect(admin.CoreV1().Pods(namespace).Delete(ctx, "stranger", metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() bool {
			_, getErr := admin.CoreV1().Pods(namespace).Get(ctx, "stranger", metav1.GetOptions{})
			return apierrors.IsNotFound(getErr)
		}).Should(BeTrue())
	})

	It("has its proxy lead to Services only", func() {
		_, status := get(Default, "http://example.com/")
		Expect(status).To(Equal(http.StatusForbidden))
		_, err := inside.Get(service("/env"))
		Expect(err).To(MatchError(io.EOF), "there is no such Service")
	})
})

// get reads a page through the proxy.
func get(g Gomega, url string) (string, int) {
	GinkgoHelper()
	response, err := inside.Get(url)
	g.Expect(err).NotTo(HaveOccurred())
	content, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	return string(content), response.StatusCode
}

func fetch(g Gomega, url string, into any) {
	GinkgoHelper()
	content, status := get(g, url)
	g.Expect(status).To(Equal(http.StatusOK), content)
	g.Expect(json.Unmarshal([]byte(content), into)).To(Succeed())
}
