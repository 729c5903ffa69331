package e2e

import (
	"context"
	"errors"
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

// leader is the name of the operator pod that holds the lease; empty when none does. A holder is <pod>_<something>.
func (w *world) leader(ctx context.Context, g Gomega) string {
	lease := &coordinationv1.Lease{}
	g.Expect(w.kube.Get(ctx, key(system, leaseName), lease)).To(Succeed())
	holder := ptr.Deref(lease.Spec.HolderIdentity, "")
	for i := range holder {
		if holder[i] == '_' {
			return holder[:i]
		}
	}
	return holder
}

func failOver(ctx context.Context) {
	// This step kills on purpose.
	defer w.killer.rest()()
	w.upgrade(ctx, w.chart(), w.operator, "--set", "replicas=2")
	for _, kill := range []struct {
		how     string
		options []client.DeleteOption
	}{
		{"in order", nil},
		{"without a warning", []client.DeleteOption{client.GracePeriodSeconds(0)}},
	} {
		leader := w.bothReady(ctx)
		pod := &corev1.Pod{}
		w.get(ctx, system, leader, pod)
		begin := time.Now()
		Expect(w.kube.Delete(ctx, pod, kill.options...)).To(Succeed())
		var next string
		Eventually(ctx, func(g Gomega) {
			next = w.leader(ctx, g)
			g.Expect(next).NotTo(Or(BeEmpty(), Equal(leader)))
		}).Should(Succeed())
		say("leader %s ended %s; %s took over after %.1f s", leader, kill.how, next, time.Since(begin).Seconds())
		w.rename(ctx, "Payments, "+kill.how)
	}
	w.rename(ctx, "Payments")
}

// bothReady waits for two ready operators and returns the one that leads.
func (w *world) bothReady(ctx context.Context) (leader string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(w.kube.List(ctx, pods, client.InNamespace(system), operatorPods)).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(2))
		leader = w.leader(ctx, g)
		var names []string
		for i := range pods.Items {
			g.Expect(tunnel.Ready(&pods.Items[i])).To(BeTrue())
			names = append(names, pods.Items[i].Name)
		}
		g.Expect(names).To(ContainElement(leader))
	}).Should(Succeed())
	return leader
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
