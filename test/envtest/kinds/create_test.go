package kinds_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var _ = Describe("what is created", func() {
	It("stands on the server once, under its own name, and says so", func(ctx SpecContext) {
		i := newInstall(ctx)
		_, _, err := i.peer.AddUser("alice", false)
		Expect(err).NotTo(HaveOccurred())
		a := i.full(ctx)
		change(ctx, a.rule, func(r *v1alpha1.TerdutEscalationRule) { r.Spec.Levels = append(r.Spec.Levels, level("15m", "alice")) })
		eventuallyReady(ctx, a.rule)

		By("the server")
		Expect(i.peer.Teams()).To(HaveLen(1))
		team := i.peer.Teams()[0]
		Expect(team.Name).To(Equal("Payments"))
		policy := i.peer.Escalation(team.ID)
		Expect(policy.Levels).To(HaveLen(2))
		Expect(policy.RepeatCount).To(Equal(2))
		Expect(policy.Levels[0].Timeout).To(Equal(5 * time.Minute))
		Expect(policy.Levels[1].Targets).To(HaveLen(2))
		Expect(policy.Levels[1].Targets[1].UserID).NotTo(BeZero())
		switches, integrations := i.peer.Switches(team.ID), i.peer.Integrations(team.ID)
		Expect(switches).To(HaveLen(1))
		Expect(switches[0].Name).To(Equal("watchdog"))
		Expect(integrations).To(HaveLen(1))
		Expect(integrations[0].Name).To(Equal("alerts"))

		By("the status")
		for _, s := range []struct {
			status v1alpha1.RemoteStatus
			id     int64
			owner  metav1.Object
		}{
			{a.team.Status.RemoteStatus, team.ID, a.team},
			{a.rule.Status.RemoteStatus, team.ID, a.rule},
			{a.deadman.Status.RemoteStatus, switches[0].ID, a.deadman},
			{a.source.Status.RemoteStatus, integrations[0].ID, a.source},
		} {
			Expect(s.status.ObservedGeneration).To(Equal(s.owner.GetGeneration()))
			Expect(s.status.PendingCreate).To(BeNil())
			Expect(s.status.Retiring).To(BeEmpty())
			Expect(s.status.Remote).To(HaveValue(And(
				HaveField("ID", s.id), HaveField("TeamID", team.ID), HaveField("OwnerUID", s.owner.GetUID()),
				HaveField("ServerNamespace", i.platform), HaveField("ServerName", "terdut"), HaveField("ServerUID", i.server.UID),
				HaveField("Adopted", false),
			)), "%T", s.owner)
			types := []any{HaveField("Type", "Ready"), HaveField("Type", "ReferencesResolved"), HaveField("Type", "Synced")}
			if s.owner == metav1.Object(a.team) {
				types = append(types, HaveField("Type", "CredentialsReady"))
			}
			Expect(s.status.Conditions).To(HaveExactElements(types...))
		}
		Expect(a.team.Status.TeamID).To(Equal(team.ID))
		Expect(a.deadman.Status.SwitchID).To(Equal(switches[0].ID))
		Expect(a.deadman.Status.Applied).To(HaveValue(HaveField("Matcher", a.deadman.Spec.Matcher)))
		Expect(a.source.Status.IntegrationID).To(Equal(integrations[0].ID))
		Expect(a.source.Status.WebhookURLSecretRef).To(HaveValue(HaveField("Name", "alerts-terdut-webhook")))

		By("the Events")
		eventuallyEvent(ctx, a.team, And(HavePrefix("Normal Created"), ContainSubstring(fmt.Sprintf("team %q (%d)", "Payments", team.ID))))
		eventuallyEvent(ctx, a.deadman, And(HavePrefix("Normal Created"), ContainSubstring("dead man's switch \"watchdog\"")))
		eventuallyEvent(ctx, a.source, And(HavePrefix("Normal Created"), ContainSubstring("integration \"alerts\"")))
		eventuallyEvent(ctx, a.rule, ContainSubstring("levels"))
		for _, o := range a.objects {
			eventuallyEvent(ctx, o, HavePrefix("Normal Ready"))
		}
	})

	It("shows what matters in a table", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		for _, want := range []struct {
			resource string
			object   metav1.Object
			cells    map[string]string
		}{
			{"terdutteams", a.team, map[string]string{"Display Name": "Payments", "Server": "terdut", "ID": fmt.Sprint(a.team.Status.TeamID)}},
			{"terdutescalationrules", a.rule, map[string]string{"Team": a.team.Name, "Team ID": fmt.Sprint(a.team.Status.TeamID)}},
			{"terdutdeadmanswitches", a.deadman, map[string]string{"Switch": "watchdog", "Timeout": "15m", "ID": fmt.Sprint(a.deadman.Status.SwitchID)}},
			{"terdutalertsources", a.source, map[string]string{"Kind": "alertmanager", "Secret": "alerts-terdut-webhook", "ID": fmt.Sprint(a.source.Status.IntegrationID)}},
		} {
			row, err := env.Row(ctx, want.resource, want.object.GetNamespace(), want.object.GetName())
			Expect(err).NotTo(HaveOccurred())
			want.cells["Ready"], want.cells["Reason"] = "True", "Ready"
			for column, cell := range want.cells {
				Expect(row).To(HaveKeyWithValue(column, cell), want.resource)
			}
		}
	})

	It("waits for its team, and two rules that came with it sort it out", func(ctx SpecContext) {
		i := newInstall(ctx)
		team := i.team("Later")
		team.Name, team.GenerateName = "later", ""
		first, second, watchdog := rule(team, "first", level("5m")), rule(team, "second", level("9m")), deadman(team, "watchdog")
		create(ctx, first, second, watchdog)
		eventuallyTold(ctx, watchdog, v1alpha1.ConditionReady, "False WaitingForTeam")
		eventuallyTold(ctx, first, v1alpha1.ConditionReady, "False WaitingForTeam")
		eventuallyTold(ctx, second, v1alpha1.ConditionReady, "False WaitingForTeam")
		create(ctx, team)
		eventuallyReady(ctx, team, watchdog)
		Eventually(func() []string {
			return []string{told(ctx, first, v1alpha1.ConditionReady)(), told(ctx, second, v1alpha1.ConditionReady)()}
		}).Should(ConsistOf("True Ready", "False WaitingForRule"))
	})
})
