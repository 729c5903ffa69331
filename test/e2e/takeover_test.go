package e2e

import (
	"context"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// oldRelease is the Helm release, and so the Deployment, of the old chart.
const oldRelease = "terdut"

// takeOver walks through docs/migration.md.
func takeOver(ctx context.Context) {
	team := w.oldInstall(ctx)
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	w.get(ctx, legacy, oldRelease, deployment)
	w.get(ctx, legacy, oldRelease, service)

	_, err := w.kubectlWith(ctx, oldServer(w.server.first.Repository(), w.server.first.Tag()), "apply", "--server-side", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
	agree(ctx)

	taken := &appsv1.Deployment{}
	w.get(ctx, legacy, oldRelease, taken)
	Expect(taken.UID).To(Equal(deployment.UID), "kept, not made anew")
	address := &corev1.Service{}
	w.get(ctx, legacy, oldRelease, address)
	Expect(address.Spec.ClusterIP).To(Equal(service.Spec.ClusterIP))
	adopted := &v1alpha1.TerdutTeam{}
	w.get(ctx, legacy, "old-team", adopted)
	Expect(adopted.Status.TeamID).To(Equal(team), "the team that was there")

	By("letting Helm forget the release")
	w.kubectlOK(ctx, "delete", "secret", "-n", legacy, "-l", "owner=helm,name="+oldRelease)
	releases, err := w.helm.Run(ctx, "list", "--namespace", legacy, "--short")
	Expect(err).NotTo(HaveOccurred())
	Expect(strings.TrimSpace(releases)).To(BeEmpty())
}

// oldInstall installs the old chart with a real helm, bootstraps the server as that chart's Job did, and makes a team. It
// returns the team's ID.
func (w *world) oldInstall(ctx context.Context) int64 {
	GinkgoHelper()
	w.kubectlOK(ctx, "create", "namespace", legacy)
	password := w.database.create(ctx, "old")
	w.kubectlOK(ctx, "create", "secret", "generic", "old-database", "-n", legacy, "--from-literal=password="+password)
	_, err := w.helm.Run(ctx, "install", oldRelease, filepath.Join(w.root, "test", "e2e", "testdata", "old-chart"),
		"--namespace", legacy, "--wait", "--timeout", "3m",
		"--set", "image.repository="+w.server.first.Repository(), "--set", "image.tag="+w.server.first.Tag(),
		"--set", "database.dsn="+oldDSN, "--set", "database.passwordSecret.name=old-database")
	Expect(err).NotTo(HaveOccurred())

	var team *terdutapi.Team
	Eventually(ctx, func(g Gomega) {
		address := "http://" + oldRelease + "." + legacy + ".svc:8080"
		nobody, err := w.sides.Client(address, "")
		g.Expect(err).NotTo(HaveOccurred())
		first, err := nobody.Bootstrap(ctx, terdutapi.BootstrapRequest{Username: "admin", Email: "admin@example.com"})
		g.Expect(err).NotTo(HaveOccurred())
		api, err := w.sides.Client(address, first.Key)
		g.Expect(err).NotTo(HaveOccurred())
		team, err = api.CreateTeam(ctx, "Old team")
		g.Expect(err).NotTo(HaveOccurred())
		_, err = w.kubectl(ctx, "create", "secret", "generic", "terdut-admin", "-n", legacy, "--from-literal=key="+first.Key)
		g.Expect(err).NotTo(HaveOccurred())
	}).Should(Succeed())
	return team.ID
}

const oldDSN = "postgres://old@" + databaseHost + ":5432/old?sslmode=require"

// oldServer is the TerdutServer that takes the old chart's objects over, and a team that adopts the server's.
func oldServer(repository, tag string) string {
	return `
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutServer
metadata: {name: ` + oldRelease + `, namespace: ` + legacy + `}
spec:
  takeOver: Helm
  image: {repository: ` + repository + `, tag: ` + tag + `}
  database:
    dsn: ` + oldDSN + `
    passwordSecretRef: {name: old-database, key: password}
  bootstrap:
    adminKeySecretRef: {name: terdut-admin, key: key}
---
apiVersion: terdut.ryuvia.com/v1alpha1
kind: TerdutTeam
metadata: {name: old-team, namespace: ` + legacy + `}
spec:
  serverRef: {name: ` + oldRelease + `}
  displayName: Old team
`
}
