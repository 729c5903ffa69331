package e2e

import (
	"context"
	"crypto/rand"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/e2e/sides"
	"git.ryuvia.com/niklas/terdut-operator/test/e2e/tunnel"
)

func key(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// patch merges into an object.
func (w *world) patch(ctx context.Context, kind, namespace, name, patch string) {
	GinkgoHelper()
	w.kubectlOK(ctx, "patch", kind, name, "-n", namespace, "--type=merge", "-p", patch)
}

// serverPods are the pods of the sample's server that are not on their way out.
func (w *world) serverPods(ctx context.Context, g Gomega) []corev1.Pod {
	pods := &corev1.PodList{}
	g.Expect(w.kube.List(ctx, pods, client.InNamespace(platform), client.MatchingLabels{
		v1alpha1.LabelName: v1alpha1.AppName, v1alpha1.LabelInstance: serverName,
	})).To(Succeed())
	var running []corev1.Pod
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp.IsZero() {
			running = append(running, pod)
		}
	}
	return running
}

// replaced waits until the server runs in one ready pod that is none of before.
func (w *world) replaced(ctx context.Context, before []corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	var now corev1.Pod
	Eventually(ctx, func(g Gomega) {
		pods := w.serverPods(ctx, g)
		g.Expect(pods).To(HaveLen(1))
		now = pods[0]
		g.Expect(tunnel.Ready(&now)).To(BeTrue())
		for _, old := range before {
			g.Expect(now.UID).NotTo(Equal(old.UID))
		}
	}).Should(Succeed())
	return &now
}

func rotate(ctx context.Context) {
	By("letting the operator restart the server at a rotation")
	before := w.serverPods(ctx, NewWithT(GinkgoT()))
	w.patch(ctx, "terdutserver", platform, serverName, `{"spec":{"database":{"restartOnRotation":true},"credentials":{"gracePeriod":"0s"}}}`)
	w.replaced(ctx, before)
	agree(ctx)

	By("rotating the database's password")
	before = w.serverPods(ctx, NewWithT(GinkgoT()))
	password := rand.Text()
	Expect(w.database.admin().SetPassword(ctx, "terdut", password)).To(Succeed())
	w.patch(ctx, "secret", platform, "terdut-database", `{"data":{"password":"`+encode(password)+`"}}`)
	Expect(w.database.admin().Disconnect(ctx, "terdut")).To(Succeed())
	w.replaced(ctx, before)
	agree(ctx)

	By("rotating the operator's key")
	old := w.operatorKey(ctx)
	w.kubectlOK(ctx, "annotate", "--overwrite", "terdutserver", serverName, "-n", platform, v1alpha1.AnnotationRotate+"=e2e")
	Eventually(ctx, func(g Gomega) {
		server := &v1alpha1.TerdutServer{}
		g.Expect(w.kube.Get(ctx, key(platform, serverName), server)).To(Succeed())
		g.Expect(server.Status.Credentials).NotTo(BeNil())
		g.Expect(server.Status.Credentials.Rotated).To(Equal("e2e"))
		g.Expect(server.Status.Credentials.Retiring).To(BeNil())
		g.Expect(w.operatorKey(ctx) == old).To(BeFalse(), "the Secret has a new key") // a failure must not show it
		api, err := w.sides.Client(sides.Address(server), old)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = api.ListTeams(ctx)
		g.Expect(err).To(MatchError(terdutapi.ErrUnauthorized), "the old key is revoked")
	}).Should(Succeed())
}

// operatorKey is the key in the operator's Secret.
func (w *world) operatorKey(ctx context.Context) string {
	GinkgoHelper()
	secret := &corev1.Secret{}
	w.get(ctx, platform, v1alpha1.CredentialsSecretName(serverName), secret)
	return string(secret.Data[v1alpha1.CredentialsKey])
}

func upgradeServer(ctx context.Context) {
	next := w.server.next
	if next.Name == "" {
		skip("%s names no image to upgrade to", nextVariable)
	}
	before := w.serverPods(ctx, NewWithT(GinkgoT()))
	w.patch(ctx, "terdutserver", platform, serverName, `{"spec":{"image":{"tag":"`+next.Tag()+`"}}}`)
	now := w.replaced(ctx, before)
	Expect(now.Spec.Containers[0].Image).To(Equal(next.Name))
	if next.Digest != "" {
		Expect(now.Status.ContainerStatuses[0].ImageID).NotTo(Equal(before[0].Status.ContainerStatuses[0].ImageID))
	}
	agree(ctx)
	paged(ctx) // what was there before is still there
}

func killServer(ctx context.Context) {
	before := w.serverPods(ctx, NewWithT(GinkgoT()))
	Expect(before).To(HaveLen(1))
	Expect(w.kube.Delete(ctx, &before[0], client.GracePeriodSeconds(0))).To(Succeed())
	w.replaced(ctx, before)
	agree(ctx)
	paged(ctx)
}

// rename changes the team's name and waits until both sides have it.
func (w *world) rename(ctx context.Context, to string) {
	GinkgoHelper()
	w.patch(ctx, "terdutteam", payments, teamName, `{"spec":{"displayName":"`+to+`"}}`)
	Eventually(ctx, func(g Gomega) {
		api, err := w.sides.API(ctx, platform, serverName)
		g.Expect(err).NotTo(HaveOccurred())
		teams, err := api.ListTeams(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(teams).To(HaveLen(1))
		g.Expect(teams[0].Name).To(Equal(to))
	}).Should(Succeed())
	agree(ctx)
}

func consent(ctx context.Context) {
	w.patch(ctx, "namespace", "", payments, `{"metadata":{"labels":{"terdut.ryuvia.com/allowed":null}}}`)
	w.sides.Refused = []string{payments}
	say("without consent: %s", agree(ctx))
	w.patch(ctx, "namespace", "", payments, `{"metadata":{"labels":{"terdut.ryuvia.com/allowed":"true"}}}`)
	w.sides.Refused = nil
}
