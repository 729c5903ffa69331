package e2e

import (
	"context"
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/test/e2e/cluster"
	"git.ryuvia.com/niklas/terdut-operator/test/e2e/tunnel"
)

// leaseName is the lease of the one operator that works.
const leaseName = "terdut-operator"

// holder is who holds the lease, as <pod>_<something>; empty when nobody does.
func (w *world) holder(ctx context.Context, g Gomega) string {
	lease := &coordinationv1.Lease{}
	g.Expect(w.kube.Get(ctx, key(system, leaseName), lease)).To(Succeed())
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

func failOver(ctx context.Context) {
	// This step kills on purpose.
	defer w.killer.rest()()
	w.upgrade(ctx, w.chart(), w.operator, "--set", "replicas=2")
	for _, how := range []string{inOrder, crashed} {
		holder := w.bothReady(ctx)
		leader, _, _ := strings.Cut(holder, "_")
		pod := &corev1.Pod{}
		w.get(ctx, system, leader, pod)
		begin := time.Now()
		ended, err := w.killer.end(ctx, pod, how)
		Expect(err).NotTo(HaveOccurred())
		var next string
		Eventually(ctx, func(g Gomega) {
			next = w.holder(ctx, g)
			g.Expect(next).NotTo(Or(BeEmpty(), Equal(holder)))
		}).Should(Succeed())
		say("leader %s ended %s; %s took over after %.1f s", leader, ended, next, time.Since(begin).Seconds())
		w.rename(ctx, "Payments, "+how)
	}
	w.rename(ctx, "Payments")

	By("giving the lease back when the last one ends")
	w.upgrade(ctx, w.chart(), w.operator, "--set", "replicas=0")
	Eventually(ctx, func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(w.kube.List(ctx, pods, client.InNamespace(system), operatorPods)).To(Succeed())
		g.Expect(pods.Items).To(BeEmpty())
	}).Should(Succeed())
	Expect(w.holder(ctx, NewWithT(GinkgoT()))).To(BeEmpty())
	w.upgrade(ctx, w.chart(), w.operator, "--set", "replicas=2")
}

// bothReady waits for two ready operators and returns which of them holds the lease.
func (w *world) bothReady(ctx context.Context) (holder string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(w.kube.List(ctx, pods, client.InNamespace(system), operatorPods)).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(2))
		holder = w.holder(ctx, g)
		leader, _, _ := strings.Cut(holder, "_")
		var names []string
		for i := range pods.Items {
			g.Expect(tunnel.Ready(&pods.Items[i])).To(BeTrue())
			names = append(names, pods.Items[i].Name)
		}
		g.Expect(names).To(ContainElement(leader))
	}).Should(Succeed())
	return holder
}

func restartControlPlane(ctx context.Context) {
	for _, restart := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"API server", w.cluster.RestartAPIServer},
		{"etcd", w.cluster.RestartEtcd},
	} {
		By("restarting " + restart.what)
		begin := time.Now()
		err := restart.do(ctx)
		if errors.Is(err, cluster.ErrNotPossible) {
			skip("%v", err)
		}
		Expect(err).NotTo(HaveOccurred())
		say("%s is back after %.1f s", restart.what, time.Since(begin).Seconds())
		// Whether the operator's watches have come back shows in something that changes.
		Eventually(ctx, func() error { _, err := w.kubectl(ctx, "get", "namespace", payments); return err }).Should(Succeed())
		w.rename(ctx, "Payments, after "+restart.what)
	}
	w.rename(ctx, "Payments")
}

func upgradeChart(ctx context.Context) {
	before := w.serverPods(ctx, NewWithT(GinkgoT()))
	say("upgrade from: %s", w.previous.what)
	if w.previous.chart == "" {
		w.upgrade(ctx, w.chart(), w.operator, "--set", "resources.requests.cpu=10m")
	} else {
		w.upgrade(ctx, w.previous.chart, w.previous.operator)
	}
	agree(ctx)
	w.upgrade(ctx, w.chart(), w.operator)
	agree(ctx)
	after := w.serverPods(ctx, NewWithT(GinkgoT()))
	Expect(after).To(HaveLen(1))
	Expect(after[0].UID).To(Equal(before[0].UID), "an upgrade of the operator restarts no server")
}
