package node_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/node"
)

const probeImage = "node.local/probe:1"

var _ = Describe("a node", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		program := filepath.Join(GinkgoT().TempDir(), "probe")
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "./testdata/probe")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		output, err := build.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", output)
		archive := filepath.Join(GinkgoT().TempDir(), "probe.tar")
		Expect(node.WriteImage(archive, node.Image{
			Name: probeImage, Files: map[string]string{"/probe": program}, Entrypoint: []string{"/probe"},
		})).To(Succeed())
		Expect(cube.LoadImage(ctx, archive)).To(Succeed())
		output, err = cube.Kubectl(ctx, "apply", "-f", "testdata/workload.yaml").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", output)
	})

	It("runs a pod from an image that was loaded, with a Secret and an emptyDir", func(ctx SpecContext) {
		Eventually(available).WithContext(ctx).WithTimeout(patience).Should(BeEquivalentTo(1))
	})

	It("routes a Service, by its name for pods and by its address for the test", func(ctx SpecContext) {
		Expect(answer(ctx, "first", "http://greeting.default.svc/word")).To(Equal("hello"))
		service, err := admin.CoreV1().Services("default").Get(ctx, "greeting", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		client := http.Client{Transport: &http.Transport{DialContext: cube.DialContext, DisableKeepAlives: true}}
		response, err := client.Get("http://" + service.Spec.ClusterIP + "/word")
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = response.Body.Close() }()
		Expect(io.ReadAll(response.Body)).To(Equal([]byte("hello")))
	})

	It("lets a pod reach the test", func(ctx SpecContext) {
		listener, err := cube.Listen(ctx)
		Expect(err).NotTo(HaveOccurred())
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "from the test")
		})}
		go func() { _ = server.Serve(listener) }()
		DeferCleanup(server.Close)
		Expect(answer(ctx, "outward", fmt.Sprintf("http://%s/", listener.Addr()))).To(Equal("from the test"))
	})

	It("keeps its data and its address when etcd is killed and started again", func(ctx SpecContext) {
		Expect(cube.RestartEtcd(ctx)).To(Succeed())
		Expect(available(ctx)).To(BeEquivalentTo(1))
	})

	It("keeps its data and its address when the API server is killed and started again", func(ctx SpecContext) {
		Expect(cube.RestartAPIServer(ctx)).To(Succeed())
		Expect(available(ctx)).To(BeEquivalentTo(1))
		Expect(answer(ctx, "second", "http://greeting.default.svc.cluster.local/word")).To(Equal("hello"))
	})

	It("has a directory of its own", func(ctx SpecContext) {
		_, err := node.Start(ctx, node.Options{Dir: dir})
		Expect(err).To(MatchError(fmt.Sprintf(
			"start node: %s belongs to a node that runs (process %d): stop that, or choose another directory", dir, os.Getpid())))
	})

	It("says that a port is in use, and leaves nothing then", func(ctx SpecContext) {
		busy, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(busy.Close)
		other := filepath.Join(GinkgoT().TempDir(), "other")
		_, err = node.Start(ctx, node.Options{Dir: other, Port: busy.Addr().(*net.TCPAddr).Port})
		Expect(err).To(MatchError(MatchRegexp(`^start node: port \d+ on 127.0.0.1 is in use by another process: [^\n]+$`)))
		Expect(other).NotTo(BeADirectory())
	})

	It("leaves nothing when its start is interrupted", func(ctx SpecContext) {
		interrupted, interrupt := context.WithCancel(ctx)
		defer interrupt()
		other := filepath.Join(GinkgoT().TempDir(), "other")
		var made space
		log := writer(func(line string) {
			if strings.Contains(line, "starting kubelet") && interrupted.Err() == nil {
				made.names = namespacesOf(initOf(other))
				interrupt()
			}
		})
		_, err := node.Start(interrupted, node.Options{Log: log, Dir: other})
		Expect(err).To(MatchError("start kubelet: context canceled"))
		Expect(made.names).NotTo(BeEmpty())
		Eventually(made.remains).WithTimeout(patience).Should(BeEmpty())
		Expect(other).NotTo(BeADirectory())
		Expect(lookAround()).To(Equal(before))
	})

	It("says which image cannot be loaded", func(ctx SpecContext) {
		Expect(cube.LoadImage(ctx, "/does/not/exist.tar")).To(MatchError(ContainSubstring("load image /does/not/exist.tar: ")))
		Expect(cube.LoadImage(ctx, "node_test.go")).To(MatchError(MatchRegexp(`^load image node_test.go: [^\n]+$`)))
	})

	It("leaves nothing behind", func(ctx SpecContext) {
		made := spaceOf(dir)
		begin := time.Now()
		Expect(cube.Stop(ctx)).To(Succeed())
		Expect(figures.Value("node", "node-stop", time.Since(begin).Round(100*time.Millisecond).Seconds(), "s")).To(Succeed())
		Eventually(made.remains).WithTimeout(patience).Should(BeEmpty())
		Expect(lookAround()).To(Equal(before))
		for _, cgroup := range append(made.cgroups, killed.cgroups...) {
			Expect(cgroup).NotTo(BeADirectory())
		}
		Expect(dir).NotTo(BeADirectory())
		Expect(filepath.Join(logs, "kubelet.log")).To(BeAnExistingFile(), "logs are kept where it was asked for")
		Expect(cube.Stop(ctx)).To(Succeed(), "once more does no harm")
		Expect(node.Clear(ctx, node.Options{Dir: dir})).To(Succeed(), "there is nothing to clear")
	})
})

// writer lets a function read what is written.
type writer func(string)

func (w writer) Write(content []byte) (int, error) {
	w(string(content))
	return len(content), nil
}

// available is the number of pods of the workload that are available.
func available(ctx context.Context) (int32, error) {
	deployment, err := admin.AppsV1().Deployments("default").Get(ctx, "greeting", metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("get the workload: %w", err)
	}
	return deployment.Status.AvailableReplicas, nil
}

// answer lets a pod of that name fetch a URL and returns what the pod got.
func answer(ctx SpecContext, name, url string) string {
	GinkgoHelper()
	pods := admin.CoreV1().Pods("default")
	Eventually(func() error {
		_, err := pods.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "probe", Image: probeImage, Args: []string{"fetch", url}}},
			},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}).WithTimeout(patience).Should(Succeed())
	var message string
	Eventually(func() (corev1.PodPhase, error) {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Terminated != nil {
				message = status.State.Terminated.Message
			}
		}
		return pod.Status.Phase, nil
	}).WithTimeout(patience).WithPolling(200 * time.Millisecond).Should(Equal(corev1.PodSucceeded))
	return message
}
