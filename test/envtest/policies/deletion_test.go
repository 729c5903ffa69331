package policies_test

import (
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// refuse answers every request of a method with an error.
func refuse(method string, status int) refserver.FaultFunc {
	return func(r *http.Request, _ string) refserver.Fault {
		if r.Method != method {
			return nil
		}
		return refserver.JSONError(status, "no")
	}
}

var _ = Describe("deletionPolicy: Orphan", func() {
	It("leaves everything on the server, without a call, and the webhook's Secret", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionOrphan)
		id, secret := i.Team.Status.TeamID, i.webhook()
		Expect(env.Read(ctx, secret)).To(Succeed())
		data := secret.Data
		i.peer.ResetRequests()
		env.Remove(ctx, i.all()...)
		env.EventuallyGone(ctx, i.all()...)
		Expect(i.calls()).To(BeEmpty())
		Expect(i.peer.Teams()).To(HaveLen(1))
		Expect(i.peer.Escalation(id).Levels).To(HaveLen(1))
		Expect(i.peer.Switches(id)).To(HaveLen(1))
		Expect(i.peer.Integrations(id)).To(HaveLen(1))
		for _, o := range i.all() {
			env.EventuallyEvent(ctx, o, HavePrefix("Normal Orphaned"))
		}
		Consistently(func() error { return env.Read(ctx, secret) }, "3s").Should(Succeed())
		Expect(secret.OwnerReferences).To(BeEmpty())
		Expect(secret.DeletionTimestamp).To(BeNil())
		Expect(secret.Data).To(Equal(data))
	})
})

var _ = Describe("force-orphan", func() {
	It("lets one resource go while its server is down", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		i.peer.Down(true)
		env.Remove(ctx, i.Switch, i.Source)
		eventuallyTold(ctx, i.Switch, v1alpha1.ConditionDegraded, "True ServerUnreachable")
		annotate(ctx, v1alpha1.AnnotationForceOrphan, "true", i.Switch)
		env.EventuallyGone(ctx, i.Switch)
		env.EventuallyEvent(ctx, i.Switch, HavePrefix("Warning Released"))
		Expect(env.Read(ctx, i.Source)).To(Succeed(), "another one is not let go with it")
		i.peer.Down(false)
		env.EventuallyGone(ctx, i.Source)
		Expect(i.peer.Switches(i.Team.Status.TeamID)).To(HaveLen(1))
	})

	It("on a TerdutServer lets go what is being deleted on it, and the server in spite of live teams", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		live := sample.NamedTeam(i.server, i.platform, "live", "Live")
		env.Create(ctx, live)
		eventuallyReady(ctx, live)
		i.peer.Down(true)
		env.Remove(ctx, i.all()...)
		for _, o := range i.all() {
			eventuallyTold(ctx, o, v1alpha1.ConditionDegraded, "True ServerUnreachable")
		}
		env.Remove(ctx, i.server)
		eventuallyTold(ctx, i.server, v1alpha1.ConditionDegraded, "True TeamsAttached")
		annotate(ctx, v1alpha1.AnnotationForceOrphan, "true", i.server)
		env.EventuallyGone(ctx, append(i.all(), i.server)...)
		Expect(env.Read(ctx, live)).To(Succeed())
		Expect(live.DeletionTimestamp).To(BeNil())
		env.Remove(ctx, live)
		env.EventuallyGone(ctx, live)
	})

	It("in a namespace that terminates is told on the TerdutServer, and nowhere else", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		i.peer.Down(true)
		annotate(ctx, v1alpha1.AnnotationForceOrphan, "true", i.server)
		env.Remove(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.tenant}})
		env.EventuallyGone(ctx, append(i.all(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.tenant}})...)
		for _, kind := range []string{"TerdutTeam", "TerdutEscalationRule", "TerdutDeadmanSwitch", "TerdutAlertSource"} {
			env.EventuallyEvent(ctx, i.server, And(HavePrefix("Warning Released"), ContainSubstring(kind+" "+i.tenant+"/payments")))
		}
	})
})

var _ = Describe("a deletion that hangs", func() {
	It("is told to be stuck after half an hour, and ends when the server is back", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		i.peer.SetFault(refuse(http.MethodDelete, http.StatusUnauthorized))
		env.Remove(ctx, i.Switch)
		eventuallyTold(ctx, i.Switch, v1alpha1.ConditionDegraded, "True CredentialRejected")
		clock.forward(stuckAfter)
		DeferCleanup(func() { clock.forward(-stuckAfter) }) // the others live in the same hour
		annotate(ctx, "example.com/wake", "up", i.Switch)
		eventuallyTold(ctx, i.Switch, v1alpha1.ConditionDegraded, "True DeletionStuck")
		Expect(steps.Message(i.Switch, v1alpha1.ConditionDegraded)).To(ContainSubstring(v1alpha1.AnnotationForceOrphan))
		eventuallyTold(ctx, i.Switch, v1alpha1.ConditionSynced, "Unknown CredentialRejected")
		env.EventuallyEvent(ctx, i.Switch, HavePrefix("Warning DeletionStuck"))
		i.peer.SetFault(nil)
		annotate(ctx, "example.com/wake", "again", i.Switch)
		env.EventuallyGone(ctx, i.Switch)
		Expect(i.peer.Switches(i.Team.Status.TeamID)).To(BeEmpty())
	})
})

var _ = Describe("with the consent taken back", func() {
	// revoke takes the consent back and waits until everything knows.
	revoke := func(ctx SpecContext, i *install, more ...client.Object) {
		steps.Change(ctx, env, i.server, func(s *v1alpha1.TerdutServer) { s.Spec.AllowedTeams.Namespaces.From = v1alpha1.FromNone })
		for _, o := range append(i.all(), more...) {
			eventuallyTold(ctx, o, v1alpha1.ConditionReady, "False RefNotPermitted")
		}
		i.peer.ResetRequests()
		env.Requests.Reset()
	}

	It("only cleans up what is recorded: one list and one deletion each, no Secret, and no next rule", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		second := sample.Rule(i.Team, "second", sample.Level("9m"))
		env.Create(ctx, second)
		eventuallyTold(ctx, second, v1alpha1.ConditionReady, "False WaitingForRule")
		revoke(ctx, i, second)
		env.Remove(ctx, i.Switch)
		env.EventuallyGone(ctx, i.Switch)
		Expect(i.calls()).To(Equal([]string{"GET /api/teams/{teamID}/deadman-switches", "DELETE /api/teams/{teamID}/deadman-switches/{switchID}"}))
		i.peer.ResetRequests()
		env.Remove(ctx, i.Source)
		env.EventuallyGone(ctx, i.Source)
		Expect(i.calls()).To(HaveLen(2))
		i.peer.ResetRequests()
		env.Remove(ctx, i.Rule)
		env.EventuallyGone(ctx, i.Rule)
		Expect(i.calls()).To(Equal([]string{"GET /api/teams/{teamID}/escalation", "PUT /api/teams/{teamID}/escalation"}))
		Expect(i.peer.Escalation(i.Team.Status.TeamID).Levels).To(BeEmpty())
		i.peer.ResetRequests()
		env.Remove(ctx, i.Team)
		env.EventuallyGone(ctx, i.Team)
		Expect(i.calls()).To(Equal([]string{"GET /api/teams", "DELETE /api/teams/{teamID}"}))
		for _, secret := range env.Requests.SecretReads() {
			Expect(strings.HasPrefix(secret, i.tenant)).To(BeFalse(), secret)
		}
		env.Remove(ctx, second)
		env.EventuallyGone(ctx, second)
	})
})

var _ = Describe("an escalation policy that cannot be cleared", func() {
	It("stays, and lets its rule go", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.DeletionDelete)
		i.peer.SetFault(refuse(http.MethodPut, http.StatusUnprocessableEntity))
		env.Remove(ctx, i.Rule)
		env.EventuallyGone(ctx, i.Rule)
		env.EventuallyEvent(ctx, i.Rule, And(HavePrefix("Warning Released"), ContainSubstring("does not take an empty policy")))
		Expect(i.peer.Escalation(i.Team.Status.TeamID).Levels).To(HaveLen(1))
	})
})
