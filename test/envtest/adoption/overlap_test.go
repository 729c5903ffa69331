package adoption_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

var _ = Describe("two operators at once", func() {
	const teams = 4

	It("make one object for each resource, of every kind, and lose none", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		i.start() // a second one, with caches of its own
		i.peer.ResetRequests()
		var made []*all
		for n := range teams {
			a := &all{team: i.teamIn(i.tenant, fmt.Sprintf("Team %d", n))}
			create(ctx, a.team)
			names := fmt.Sprintf("of-%d", n)
			a.rule, a.deadman, a.source = rule(a.team, names), deadman(a.team, names), source(a.team, names)
			a.objects = []client.Object{a.team, a.rule, a.deadman, a.source}
			create(ctx, a.objects[1:]...)
			made = append(made, a)
		}
		for _, a := range made {
			eventuallyReady(ctx, a.objects...)
		}
		i.rests()
		i.hasOneEach(ctx, made)
		// Each was made once, or what was made twice was deleted again.
		i.countPosts("created", 3*teams)

		By("renaming, changing and making anew")
		i.peer.ResetRequests()
		for n, a := range made {
			change(ctx, a.team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = fmt.Sprintf("Renamed %d", n) })
			change(ctx, a.rule, func(r *v1alpha1.TerdutEscalationRule) { r.Spec.RepeatCount = 3 })
			change(ctx, a.source, func(s *v1alpha1.TerdutAlertSource) { s.Spec.Name = fmt.Sprintf("renamed-%d", n) })
		}
		for _, a := range made {
			eventuallyReady(ctx, a.objects...)
		}
		i.rests()
		i.hasOneEach(ctx, made)
		i.countPosts("renamed", 0)

		By("deleting")
		for _, a := range made {
			remove(ctx, a.objects...)
		}
		for _, a := range made {
			eventuallyGone(ctx, a.objects...)
		}
		Expect(i.peer.Teams()).To(BeEmpty())
	})
})

// hasOneEach: the server has one object for each resource, under its own name,
// and that is the one that the resource has recorded.
func (i *install) hasOneEach(ctx SpecContext, made []*all) {
	GinkgoHelper()
	Expect(i.peer.Teams()).To(HaveLen(len(made)))
	for _, a := range made {
		for _, o := range a.objects {
			Expect(read(ctx, o)).To(Succeed())
			Expect(remoteOf(o).PendingCreate).To(BeNil())
			Expect(remoteOf(o).Retiring).To(BeEmpty())
		}
		team := a.team.Status.TeamID
		Expect(i.peer.Teams()).To(ContainElement(And(HaveField("ID", team), HaveField("Name", a.team.Spec.DisplayName))))
		Expect(i.peer.Escalation(team).RepeatCount).To(BeEquivalentTo(a.rule.Spec.RepeatCount))
		Expect(i.peer.Switches(team)).To(ConsistOf(And(HaveField("ID", a.deadman.Status.SwitchID), HaveField("Name", a.deadman.Spec.Name))))
		Expect(i.peer.Integrations(team)).To(ConsistOf(And(HaveField("ID", a.source.Status.IntegrationID), HaveField("Name", a.source.Spec.Name))))
	}
}

// countPosts: what was made less what was deleted again is what is wanted.
func (i *install) countPosts(of string, want int) {
	GinkgoHelper()
	posts, deletes := 0, 0
	for _, r := range i.peer.Requests() {
		switch {
		case r.Path != "/api/teams" && r.Path != "/api/teams/{teamID}" && !isOfTeam(r.Path):
		case r.Method == "POST" && r.Status == 201:
			posts++
		case r.Method == "DELETE" && r.Status < 300:
			deletes++
		}
	}
	Expect(figures.Value(suite, "two-operators-posts-"+of, posts, "")).To(Succeed())
	Expect(posts-deletes).To(Equal(want), "%d made and %d deleted", posts, deletes)
}

func isOfTeam(path string) bool {
	for _, kind := range []string{"deadman-switches", "integrations"} {
		for _, of := range []string{"", "/{switchID}", "/{integrationID}"} {
			if path == "/api/teams/{teamID}/"+kind+of {
				return true
			}
		}
	}
	return false
}
