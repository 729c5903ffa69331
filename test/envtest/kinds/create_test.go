package kinds_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("what is created", func() {
	It("stands on the server once, under its own name, and says so", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		_, _, err := i.Peer.AddUser("alice", false)
		Expect(err).NotTo(HaveOccurred())
		a := i.Full(ctx)
		steps.Change(ctx, env, a.Rule, func(r *v1alpha1.TerdutEscalationRule) {
			r.Spec.Levels = append(r.Spec.Levels, sample.Level("15m", "alice"))
		})
		env.EventuallyReady(ctx, a.Rule)

		By("the server")
		Expect(i.Peer.Teams()).To(HaveLen(1))
		team := i.Peer.Teams()[0]
		Expect(team.Name).To(Equal("Payments"))
		policy := i.Peer.Escalation(team.ID)
		Expect(policy.Levels).To(HaveLen(2))
		Expect(policy.RepeatCount).To(Equal(2))
		Expect(policy.Levels[0].Timeout).To(Equal(5 * time.Minute))
		Expect(policy.Levels[1].Targets).To(HaveLen(2))
		Expect(policy.Levels[1].Targets[1].UserID).NotTo(BeZero())
		switches, integrations := i.Peer.Switches(team.ID), i.Peer.Integrations(team.ID)
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
			{a.Team.Status.RemoteStatus, team.ID, a.Team},
			{a.Rule.Status.RemoteStatus, team.ID, a.Rule},
			{a.Switch.Status.RemoteStatus, switches[0].ID, a.Switch},
			{a.Source.Status.RemoteStatus, integrations[0].ID, a.Source},
		} {
			Expect(s.status.ObservedGeneration).To(Equal(s.owner.GetGeneration()))
			Expect(s.status.PendingCreate).To(BeNil())
			Expect(s.status.Retiring).To(BeEmpty())
			Expect(s.status.Remote).To(HaveValue(And(
				HaveField("ID", s.id), HaveField("TeamID", team.ID), HaveField("OwnerUID", s.owner.GetUID()),
				HaveField("ServerNamespace", i.Platform), HaveField("ServerName", "terdut"), HaveField("ServerUID", i.Server.UID),
				HaveField("Adopted", false),
			)), "%T", s.owner)
			types := []any{HaveField("Type", "Ready"), HaveField("Type", "ReferencesResolved"), HaveField("Type", "Synced")}
			if s.owner == metav1.Object(a.Team) {
				types = append(types, HaveField("Type", "CredentialsReady"))
			}
			Expect(s.status.Conditions).To(HaveExactElements(types...))
		}
		Expect(a.Team.Status.TeamID).To(Equal(team.ID))
		Expect(a.Switch.Status.SwitchID).To(Equal(switches[0].ID))
		Expect(a.Switch.Status.Applied).To(HaveValue(HaveField("Matcher", a.Switch.Spec.Matcher)))
		Expect(a.Source.Status.IntegrationID).To(Equal(integrations[0].ID))
		Expect(a.Source.Status.WebhookURLSecretRef).To(HaveValue(HaveField("Name", "alerts-terdut-webhook")))

		By("the Events")
		env.EventuallyEvent(ctx, a.Team, And(HavePrefix("Normal Created"), ContainSubstring(fmt.Sprintf("team %q (%d)", "Payments", team.ID))))
		env.EventuallyEvent(ctx, a.Switch, And(HavePrefix("Normal Created"), ContainSubstring("dead man's switch \"watchdog\"")))
		env.EventuallyEvent(ctx, a.Source, And(HavePrefix("Normal Created"), ContainSubstring("integration \"alerts\"")))
		env.EventuallyEvent(ctx, a.Rule, ContainSubstring("levels"))
		for _, o := range a.Objects() {
			env.EventuallyEvent(ctx, o, HavePrefix("Normal Ready"))
		}
	})

	It("shows what matters in a table", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		for _, want := range []struct {
			resource string
			object   metav1.Object
			cells    map[string]string
		}{
			{"terdutteams", a.Team, map[string]string{"Display Name": "Payments", "Server": "terdut", "ID": fmt.Sprint(a.Team.Status.TeamID)}},
			{"terdutescalationrules", a.Rule, map[string]string{"Team": a.Team.Name, "Team ID": fmt.Sprint(a.Team.Status.TeamID)}},
			{"terdutdeadmanswitches", a.Switch, map[string]string{"Switch": "watchdog", "Timeout": "15m", "ID": fmt.Sprint(a.Switch.Status.SwitchID)}},
			{"terdutalertsources", a.Source, map[string]string{"Kind": "alertmanager", "Secret": "alerts-terdut-webhook", "ID": fmt.Sprint(a.Source.Status.IntegrationID)}},
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
		i := env.ReadyInstall(ctx, refserver.Options{})
		team := i.Team("Later")
		team.Name, team.GenerateName = "later", ""
		first, second, watchdog := sample.Rule(team, "first", sample.Level("5m")), sample.Rule(team, "second", sample.Level("9m")), sample.Switch(team, "watchdog")
		env.Create(ctx, first, second, watchdog)
		env.EventuallyTold(ctx, watchdog, v1alpha1.ConditionReady, "False WaitingForTeam")
		env.EventuallyTold(ctx, first, v1alpha1.ConditionReady, "False WaitingForTeam")
		env.EventuallyTold(ctx, second, v1alpha1.ConditionReady, "False WaitingForTeam")
		env.Create(ctx, team)
		env.EventuallyReady(ctx, team, watchdog)
		Eventually(func() []string {
			return []string{env.Told(ctx, first, v1alpha1.ConditionReady)(), env.Told(ctx, second, v1alpha1.ConditionReady)()}
		}).Should(ConsistOf("True Ready", "False WaitingForRule"))
	})
})
