package adoption_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// keys are all Secrets of the two namespaces, with what is in them.
func (i *install) keys(ctx context.Context) map[string]map[string][]byte {
	GinkgoHelper()
	out := map[string]map[string][]byte{}
	for _, namespace := range []string{i.Platform, i.Tenant} {
		list := &corev1.SecretList{}
		Expect(env.Admin.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, s := range list.Items {
			out[s.Namespace+"/"+s.Name] = s.Data
		}
	}
	return out
}

// lose empties the status of every object, as a restore without statuses does.
func (i *install) lose(ctx context.Context, a *sample.Full) {
	GinkgoHelper()
	change := func(o client.Object, empty func()) {
		Eventually(func() error {
			if err := env.Read(ctx, o); err != nil {
				return err
			}
			empty()
			return env.Admin.Status().Update(ctx, o)
		}).Should(Succeed())
	}
	change(i.Server, func() { i.Server.Status = v1alpha1.TerdutServerStatus{} })
	change(a.Team, func() { a.Team.Status = v1alpha1.TerdutTeamStatus{} })
	change(a.Rule, func() { a.Rule.Status = v1alpha1.TerdutEscalationRuleStatus{} })
	change(a.Switch, func() { a.Switch.Status = v1alpha1.TerdutDeadmanSwitchStatus{} })
	change(a.Source, func() { a.Source.Status = v1alpha1.TerdutAlertSourceStatus{} })
}

// rebuild makes every object anew under the same names, with the statuses that
// they had, as a restore into an emptied cluster does.
func (i *install) rebuild(ctx context.Context, a *sample.Full) {
	GinkgoHelper()
	for _, o := range a.Objects() {
		Expect(env.Read(ctx, o)).To(Succeed())
		status := refs.RemoteOf(o).DeepCopy()
		o.SetFinalizers(nil)
		Expect(env.Admin.Update(ctx, o)).To(Succeed())
		env.Remove(ctx, o)
		env.EventuallyGone(ctx, o)
		o.SetResourceVersion("")
		o.SetUID("")
		env.Create(ctx, o)
		write(ctx, o, func(s *v1alpha1.RemoteStatus) { *s = *status })
	}
}

// folding is a server that trims names and folds their case.
func folding() refserver.Options {
	return refserver.Options{Settings: model.Settings{NormalizeName: func(name string) string {
		return strings.ToLower(strings.Join(strings.Fields(name), " "))
	}}}
}

var _ = Describe("a restore", func() {
	DescribeTable("of objects without their statuses needs one edit of the server, and no key changes", func(
		ctx SpecContext, options func() refserver.Options,
	) {
		i := newInstall(ctx, options())
		a := i.full(ctx)
		env.EventuallyTold(ctx, a.Team, v1alpha1.ConditionCredentialsReady, "True KeyIssued")
		i.stop()
		before, keys := i.stands(), i.keys(ctx)
		i.lose(ctx, a)
		i.Peer.ResetRequests()
		i.start()
		env.EventuallyTold(ctx, a.Team, v1alpha1.ConditionReady, "False NameConflict")
		env.EventuallyTold(ctx, a.Source, v1alpha1.ConditionReady, "False WaitingForTeam")

		i.give(ctx, i.printed(ctx)...)
		env.EventuallyReady(ctx, append([]client.Object{i.Server}, a.Objects()...)...)
		env.EventuallyTold(ctx, a.Team, v1alpha1.ConditionCredentialsReady, "True KeyIssued")
		i.rests()
		Expect(i.stands()).To(Equal(before))
		Expect(i.keys(ctx)).To(Equal(keys))
		Expect(figures.Value(suite, "edits-after-lost-statuses", 1, "")).To(Succeed())
	},
		Entry("where names are kept as they are", func() refserver.Options { return refserver.Options{} }),
		Entry("where the server folds names", folding),
	)

	It("under new UIDs is the same for all but the key of a source, with statuses that are hints at most", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		a := i.full(ctx)
		i.stop()
		before := i.stands()
		i.rebuild(ctx, a)
		i.Peer.ResetRequests()
		i.start()
		env.EventuallyTold(ctx, a.Team, v1alpha1.ConditionReady, "False NameConflict")
		Eventually(func() *v1alpha1.RemoteIdentity {
			Expect(env.Read(ctx, a.Team)).To(Succeed())
			return a.Team.Status.Remote
		}).
			Should(BeNil(), "what another UID has recorded counts for nothing")
		i.give(ctx, i.printed(ctx)...)
		env.EventuallyReady(ctx, a.Team, a.Rule, a.Switch)
		env.EventuallyTold(ctx, a.Source, v1alpha1.ConditionReady, "False KeyUnknown")
		i.rests()
		Expect(i.writes()).To(BeEmpty())
		Expect(i.stands()).To(Equal(before))
	})

	It("beside the original takes nothing of it along, whichever is deleted", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		a := i.full(ctx)
		before := i.stands()
		i.stop()
		var copies []client.Object
		for n, o := range []client.Object{i.Team("Copy"), sample.Rule(a.Team, "copy"), deadman(a.Team, "copy"), sample.Source(a.Team, "copy")} {
			o.SetFinalizers([]string{v1alpha1.Finalizer})
			env.Create(ctx, o)
			status := refs.RemoteOf(a.Objects()[n]).DeepCopy()
			status.Retiring = []v1alpha1.RetiringObject{{ID: status.Remote.ID, CreatedAt: status.Remote.CreatedAt}}
			status.PendingCreate = &v1alpha1.PendingCreate{Name: status.Remote.Name, ID: status.Remote.ID, OwnerUID: status.Remote.OwnerUID}
			if status.PendingCreate.Name == "" {
				status.PendingCreate = nil
			}
			write(ctx, o, func(s *v1alpha1.RemoteStatus) { *s = *status })
			copies = append(copies, o)
		}
		env.Remove(ctx, copies...)
		i.Peer.ResetRequests()
		i.start()
		env.EventuallyGone(ctx, copies...)
		Expect(i.writes()).To(BeEmpty())
		Expect(i.stands()).To(Equal(before))
	})
})

var _ = Describe("a server that came back as another one", func() {
	It("keeps what agrees in ID, creation time and name, without a write", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		a := i.full(ctx)
		i.stop()
		before := i.stands()
		for _, o := range a.Objects() {
			write(ctx, o, func(s *v1alpha1.RemoteStatus) { s.Remote.ServerUID = "another" })
		}
		i.Peer.ResetRequests()
		i.start()
		for _, o := range a.Objects() {
			Eventually(func() types.UID { Expect(env.Read(ctx, o)).To(Succeed()); return refs.RemoteOf(o).Remote.ServerUID }).Should(Equal(i.Server.UID), "%T", o)
		}
		env.EventuallyReady(ctx, a.Objects()...)
		Expect(i.writes()).To(BeEmpty())
		Expect(i.stands()).To(Equal(before))
	})

	It("gets everything anew where strangers have its IDs, and they are not touched", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		a := i.full(ctx)
		i.stop()
		Expect(env.Read(ctx, a.Team)).To(Succeed())
		lost := a.Team.Status.TeamID
		var err error
		i.Peer, err = env.Network.Serve(i.Platform, "terdut", refserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		for n := range lost + 1 {
			_, err = i.Peer.Model().CreateTeam(fmt.Sprintf("Stranger %d", n))
			Expect(err).NotTo(HaveOccurred())
		}
		strangers := i.stands()
		Expect(i.Peer.Teams()).To(ContainElement(HaveField("ID", lost)))
		i.start()
		Eventually(func() int64 { Expect(env.Read(ctx, a.Team)).To(Succeed()); return a.Team.Status.TeamID }).Should(BeNumerically(">", lost))
		// Ready stays what it was while the same generation is made anew.
		for _, o := range a.Objects() {
			Eventually(func() int64 { Expect(env.Read(ctx, o)).To(Succeed()); return refs.RemoteOf(o).Remote.TeamID }).Should(Equal(a.Team.Status.TeamID), "%T", o)
		}
		env.EventuallyReady(ctx, a.Objects()...)
		Expect(i.Peer.Switches(a.Team.Status.TeamID)).To(ConsistOf(HaveField("Name", "watch")))
		Expect(i.Peer.Integrations(a.Team.Status.TeamID)).To(ConsistOf(HaveField("Name", "watch")))
		Expect(i.stands()).To(HavePrefix(strangers), "whoever has a lost ID now is not touched")
		Expect(i.Peer.Calls("DELETE")).NotTo(ContainElement(HavePrefix("DELETE /api/teams")))
	})
})

var _ = Describe("a server that gives no creation times", func() {
	It("has nothing written to, or deleted of, what was renamed on it", func(ctx SpecContext) {
		capabilities := refserver.AllCapabilities()
		Expect(capabilities.TurnOff("created-at")).To(BeTrue())
		i := newInstall(ctx, refserver.Options{Capabilities: &capabilities})
		team := i.ReadyTeam(ctx, "Payments")
		Expect(team.Status.Remote.CreatedAt).To(BeEmpty())

		By("following a change of the spec")
		steps.Change(ctx, env, team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "Billing" })
		env.EventuallyReady(ctx, team)
		Expect(i.Peer.Teams()).To(ConsistOf(HaveField("Name", "Billing")))

		By("not following one on the server")
		Expect(i.Peer.RenameTeam(team.Status.TeamID, "Somebody's")).To(Succeed())
		i.Peer.ResetRequests()
		env.EventuallyTold(ctx, team, v1alpha1.ConditionReady, "False NameConflict")
		Expect(steps.Message(team, v1alpha1.ConditionReady)).To(ContainSubstring(`"Billing"`))
		i.rests()
		Expect(i.writes()).To(BeEmpty())
		env.Remove(ctx, team)
		env.EventuallyGone(ctx, team)
		Expect(i.Peer.Teams()).To(ConsistOf(HaveField("Name", "Somebody's")))
	})
})

var _ = Describe("a server that folds names", func() {
	It("has them as it likes, and is not told again and again", func(ctx SpecContext) {
		i := newInstall(ctx, folding())
		a := i.of(ctx, " Payments  Team", "Watch DOG")
		env.EventuallyReady(ctx, a.Objects()...)
		Expect(i.Peer.Teams()).To(ConsistOf(HaveField("Name", "payments team")))
		Expect(i.Peer.Switches(a.Team.Status.TeamID)).To(ConsistOf(HaveField("Name", "watch dog")))
		Expect(i.Peer.Integrations(a.Team.Status.TeamID)).To(ConsistOf(HaveField("Name", "watch dog")))
		Expect(a.Team.Status.Remote).To(HaveValue(And(HaveField("Name", "payments team"), HaveField("AskedName", " Payments  Team"))))
		i.Peer.ResetRequests()
		i.rests()
		Expect(i.writes()).To(BeEmpty())
		Expect(figures.Value(suite, "writes-at-rest-folded-names", len(i.writes()), "")).To(Succeed())

		steps.Change(ctx, env, a.Team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = "BILLING" })
		env.EventuallyReady(ctx, a.Team)
		Expect(i.Peer.Teams()).To(ConsistOf(HaveField("Name", "billing")))

		By("being refused a name that somebody has in another spelling, without trying again and again")
		twin := i.Team("Billing")
		env.Create(ctx, twin)
		env.EventuallyTold(ctx, twin, v1alpha1.ConditionReady, "False NameConflict")
		i.Peer.ResetRequests()
		i.rests()
		Expect(i.writes()).To(BeEmpty())
		Expect(i.Peer.Teams()).To(HaveLen(1))
	})
})
