package load_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// childLists are the lists that belong to one team.
var childLists = []string{
	"/api/teams/{teamID}/escalation", "/api/teams/{teamID}/deadman-switches", "/api/teams/{teamID}/integrations",
}

// children makes a rule, a source and three switches of a team.
func children(ctx context.Context, t *v1alpha1.TerdutTeam) []client.Object {
	GinkgoHelper()
	at := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: t.Namespace, Name: t.Name + "-" + name}
	}
	of := v1alpha1.LocalRef{Name: t.Name}
	rule := &v1alpha1.TerdutEscalationRule{ObjectMeta: at("rule")}
	rule.Spec.TeamRef, rule.Spec.RepeatCount = of, 1
	rule.Spec.Levels = []v1alpha1.EscalationLevel{{
		Timeout: "5m", Targets: []v1alpha1.EscalationTarget{{Kind: v1alpha1.TargetUser, Username: "alice"}},
	}}
	source := &v1alpha1.TerdutAlertSource{ObjectMeta: at("source")}
	source.Spec = v1alpha1.TerdutAlertSourceSpec{TeamRef: of, Name: "alerts", Kind: v1alpha1.AlertSourceAlertmanager}
	out := []client.Object{rule, source}
	for i := range 3 {
		name := fmt.Sprintf("watchdog-%d", i)
		s := &v1alpha1.TerdutDeadmanSwitch{ObjectMeta: at(name)}
		s.Spec = v1alpha1.TerdutDeadmanSwitchSpec{
			TeamRef: of, Name: name, Matcher: "alertname=" + name, Timeout: "15m", Severity: "critical",
		}
		out = append(out, s)
	}
	for _, o := range out {
		Expect(env.Admin.Create(ctx, o)).To(Succeed())
	}
	return out
}

func conditions(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1alpha1.TerdutTeam:
		return o.Status.Conditions
	case *v1alpha1.TerdutEscalationRule:
		return o.Status.Conditions
	case *v1alpha1.TerdutAlertSource:
		return o.Status.Conditions
	case *v1alpha1.TerdutDeadmanSwitch:
		return o.Status.Conditions
	default:
		return nil
	}
}

// eventually waits until a condition of an object has that status and speaks of
// its present generation.
func eventually(ctx context.Context, o client.Object, conditionType string, want metav1.ConditionStatus) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(env.Admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		c := meta.FindStatusCondition(conditions(o), conditionType)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.ObservedGeneration).To(Equal(o.GetGeneration()))
		g.Expect(c.Status).To(Equal(want), c.Message)
	}).Should(Succeed())
}

var _ = Describe("what belongs to a team", Ordered, func() {
	const teams = 10
	var (
		w       *world
		objects []client.Object
	)

	BeforeAll(func(ctx SpecContext) {
		stop := start()
		DeferCleanup(func() { Expect(stop()).To(Succeed()) })
		w = newWorld(ctx)
		_, _, err := w.peer.AddUser("alice", false)
		Expect(err).NotTo(HaveOccurred())
		tenant := namespace(ctx, "tenant")
		for i := range teams {
			t := w.team(ctx, tenant, fmt.Sprintf("Team %d", i))
			objects = append(append(objects, t), children(ctx, t)...)
		}
		for _, o := range objects {
			eventually(ctx, o, v1alpha1.ConditionReady, metav1.ConditionTrue)
		}
	})

	It("costs one list of each sort for a team and resync, and one of the users", func() {
		w.peer.ResetRequests()
		Eventually(func() int { return len(w.times("/api/teams")) }).Should(BeNumerically(">=", 4))
		most := 0
		for _, path := range childLists {
			Expect(w.times(path)).NotTo(BeEmpty())
			most = max(most, mostInWindow(w.times(path)))
		}
		publish("child-lists-per-team-and-window", float64(most)/teams, "")
		Expect(most).To(BeNumerically("<=", teams))
		Expect(mostInWindow(w.times("/api/users"))).To(Equal(1))
		Expect(w.peer.Writes()).To(BeZero())
	})

	It("says that a new generation is under way while the server is down", func(ctx SpecContext) {
		w.peer.Down(true)
		t, rule := objects[0].(*v1alpha1.TerdutTeam), objects[1].(*v1alpha1.TerdutEscalationRule) //nolint:forcetypeassert // made above
		Expect(env.Admin.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
		t.Spec.DisplayName = "Renamed"
		Expect(env.Admin.Update(ctx, t)).To(Succeed())
		Expect(env.Admin.Get(ctx, client.ObjectKeyFromObject(rule), rule)).To(Succeed())
		rule.Spec.RepeatCount = 3
		Expect(env.Admin.Update(ctx, rule)).To(Succeed())
		for _, o := range []client.Object{t, rule} {
			eventually(ctx, o, v1alpha1.ConditionSynced, metav1.ConditionUnknown)
			eventually(ctx, o, v1alpha1.ConditionReconciling, metav1.ConditionTrue)
		}
		w.peer.Down(false)
		for _, o := range objects {
			eventually(ctx, o, v1alpha1.ConditionReady, metav1.ConditionTrue)
		}
		Expect(w.peer.Teams()).To(ContainElement(HaveField("Name", "Renamed")))
		Expect(w.peer.Escalation(t.Status.TeamID).RepeatCount).To(Equal(3))
	})
})

// mostInWindow is how many of the times fall into one resync, at most. A tenth
// is left out: requests take more or less time to arrive.
func mostInWindow(times []time.Time) int {
	most := 0
	for i := range times {
		inWindow := 0
		for _, at := range times[i:] {
			if at.Sub(times[i]) < resync*9/10 {
				inWindow++
			}
		}
		most = max(most, inWindow)
	}
	return most
}
