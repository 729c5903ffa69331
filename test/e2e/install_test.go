package e2e

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/test/e2e/images"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// release is the Helm release of the operator.
const release = "terdut-operator"

// namespace makes a namespace that admits nothing but restricted pods.
func (w *world) namespace(ctx context.Context, name string) {
	GinkgoHelper()
	_, err := w.kubectlWith(ctx, fmt.Sprintf(
		"{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted}}}", name),
		"apply", "--server-side", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
}

// upgrade installs a chart, or upgrades to it, with an image of the operator, and waits for it.
func (w *world) upgrade(ctx context.Context, chart string, image images.Image, more ...string) {
	GinkgoHelper()
	args := []string{
		"upgrade", "--install", release, chart, "--namespace", system, "--wait", "--timeout", "5m",
		"--set", "image.repository=" + image.Repository(), "--set", "image.tag=" + image.Tag(),
	}
	_, err := w.helm.Run(ctx, append(args, more...)...)
	Expect(err).NotTo(HaveOccurred())
}

func (w *world) chart() string { return filepath.Join(w.root, "charts", "terdut-operator") }

func install(ctx context.Context) {
	w.namespace(ctx, system)
	w.upgrade(ctx, w.chart(), w.operator)
	w.startDatabase(ctx)
	w.killer.start()
}

// measure publishes the memory of the operator at rest.
func (w *world) measure(ctx context.Context) {
	GinkgoHelper()
	defer w.killer.rest()()
	var bytes float64
	Eventually(ctx, func(g Gomega) {
		pod := w.runningOperator(ctx, g)
		var err error
		bytes, err = w.metric(ctx, pod, "process_resident_memory_bytes")
		g.Expect(err).NotTo(HaveOccurred())
		worked, err := w.metric(ctx, pod, "workqueue_adds_total")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(worked).To(BeNumerically(">", 0), "it has not begun to work")
	}).Should(Succeed())
	Expect(figures.Value(suite, "operator-rss-mib", math.Round(bytes/(1<<20)*10)/10, "MiB")).To(Succeed())
}

// runningOperator is the one operator pod that is ready.
func (w *world) runningOperator(ctx context.Context, g Gomega) *corev1.Pod {
	pods := &corev1.PodList{}
	g.Expect(w.kube.List(ctx, pods, client.InNamespace(system), operatorPods)).To(Succeed())
	g.Expect(pods.Items).To(HaveLen(1))
	g.Expect(pods.Items[0].DeletionTimestamp).To(BeNil())
	return &pods.Items[0]
}

// metric is the sum of the series of one metric of a pod of the operator.
func (w *world) metric(ctx context.Context, pod *corev1.Pod, name string) (float64, error) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return w.tunnel.DialPod(ctx, pod.Namespace, pod.Name, 8080)
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://operator/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := (&http.Client{Transport: transport, Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		return 0, fmt.Errorf("read the metrics of pod %s: %w", pod.Name, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	sum, found := 0.0, false
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		series, text, ok := strings.Cut(lines.Text(), " ")
		if series, _, _ = strings.Cut(series, "{"); !ok || series != name {
			continue
		}
		if i := strings.LastIndex(text, " "); i >= 0 {
			text = text[i+1:] // a label had a space in it
		}
		value, parseErr := strconv.ParseFloat(text, 64)
		if parseErr != nil {
			return 0, fmt.Errorf("read metric %s: %w", name, parseErr)
		}
		sum, found = sum+value, true
	}
	if !found {
		return 0, fmt.Errorf("pod %s has no metric %s", pod.Name, name)
	}
	return sum, nil
}
