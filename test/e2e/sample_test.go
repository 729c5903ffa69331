package e2e

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

// sample applies the cross-namespace sample with a fresh database, whose owner's password it puts in.
func (w *world) sample(ctx context.Context) {
	GinkgoHelper()
	password := w.database.create(ctx, "terdut")
	dir, err := w.overlay()
	Expect(err).NotTo(HaveOccurred())
	base, err := filepath.Rel(dir, filepath.Join(w.root, "config", "samples", "cross-namespace"))
	Expect(err).NotTo(HaveOccurred())
	kustomization, err := w.render("sample.yaml", map[string]string{
		"Sample": base, "Repository": w.server.first.Repository(), "Tag": w.server.first.Tag(), "Password": encode(password),
	})
	Expect(err).NotTo(HaveOccurred())
	service, err := w.render("database.yaml", map[string]string{"Database": databaseHost + ".cluster.local"})
	Expect(err).NotTo(HaveOccurred())
	Expect(w.write(dir, map[string]string{"kustomization.yaml": kustomization, "database.yaml": service})).To(Succeed())
	w.kubectlOK(ctx, "apply", "--server-side", "-k", dir)
}

func applySample(ctx context.Context) {
	w.sample(ctx)
	for _, kind := range []string{"terdutteam", "terdutescalationrule", "terdutdeadmanswitch", "terdutalertsource"} {
		Expect(w.kubectlOK(ctx, "get", kind, "-n", payments, "-o", "name")).To(ContainSubstring("terdut.ryuvia.com/payments-"))
	}
	Eventually(ctx, func(g Gomega) {
		g.Expect(w.kube.Get(ctx, key(platform, serverName), &appsv1.Deployment{})).To(Succeed(), "the operator acts")
	}).Should(Succeed())
}

func serverRuns(ctx context.Context) {
	w.serverReady(ctx)
	deployment := &appsv1.Deployment{}
	w.get(ctx, platform, serverName, deployment)
	var password *corev1.EnvVar
	for i, variable := range deployment.Spec.Template.Spec.Containers[0].Env {
		if variable.Name == "PGPASSWORD" {
			password = &deployment.Spec.Template.Spec.Containers[0].Env[i]
		}
	}
	Expect(password).NotTo(BeNil())
	Expect(password.Value).To(BeEmpty(), "no password in the clear")
	Expect(password.ValueFrom.SecretKeyRef.Name).To(Equal("terdut-database"))
	tables, err := w.database.tables(ctx, "terdut")
	Expect(err).NotTo(HaveOccurred())
	Expect(tables).To(BeNumerically(">", 0), "the server keeps its state in PostgreSQL")
	w.createUser(ctx)
}

// serverReady waits until the sample's server is deployed, bootstrapped and ready.
func (w *world) serverReady(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		server := &v1alpha1.TerdutServer{}
		g.Expect(w.kube.Get(ctx, key(platform, serverName), server)).To(Succeed())
		g.Expect(server.Status.Conditions).To(ready())
		g.Expect(server.Status.ObservedGeneration).To(Equal(server.Generation))
	}).Should(Succeed())
}

// createUser creates the user whom the escalation rule waits for.
func (w *world) createUser(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		api, err := w.sides.API(ctx, platform, serverName)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = api.CreateUser(ctx, username, username+"@example.com")
		g.Expect(err).To(Or(Succeed(), MatchError(terdutapi.ErrConflict)))
	}).Should(Succeed())
}

// ready matches conditions of which Ready is true; its failure shows the reason.
func ready() types.GomegaMatcher {
	return WithTransform(func(conditions []metav1.Condition) string {
		if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); c != nil && c.Status != metav1.ConditionTrue {
			return c.Reason + ": " + c.Message
		} else if c == nil {
			return "no condition Ready"
		}
		return "ready"
	}, Equal("ready"))
}

// api is the sample's server, with the operator's key of now.
func (w *world) api(ctx context.Context) *terdutapi.Client {
	GinkgoHelper()
	api, err := w.sides.API(ctx, platform, serverName)
	Expect(err).NotTo(HaveOccurred())
	return api
}

// oneOfEach spells out what the comparison after every step finds by rules.
func oneOfEach(ctx context.Context) {
	api := w.api(ctx)
	var team terdutapi.Team
	Eventually(ctx, func(g Gomega) {
		teams, err := api.ListTeams(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(teams).To(HaveLen(1))
		team = teams[0]
		policy, err := api.GetEscalation(ctx, team.ID)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(policy.RepeatCount).To(BeEquivalentTo(2))
		g.Expect(policy.Levels).To(HaveLen(2))
		g.Expect(policy.Levels[0].Targets).To(HaveLen(2))
		switches, err := api.ListDeadmanSwitches(ctx, team.ID)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(switches).To(HaveLen(1))
		g.Expect(switches[0].Name).To(Equal("payments-watchdog"))
		integrations, err := api.ListIntegrations(ctx, team.ID)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(integrations).To(HaveLen(1))
		g.Expect(integrations[0].Name).To(Equal(sourceName))
	}).Should(Succeed())
	Expect(team.Name).To(Equal("Payments"))
	w.measure(ctx)
}
