package adoption_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/sample"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

var _ = Describe("two operators at once", func() {
	const teams = 4

	It("make one object for each resource, of every kind, and lose none", func(ctx SpecContext) {
		i := newInstall(ctx, refserver.Options{})
		i.start() // a second one, with caches of its own
		i.Peer.ResetRequests()
		var made []*sample.Full
		for n := range teams {
			team := i.Team(fmt.Sprintf("Team %d", n))
			env.Create(ctx, team)
			names := fmt.Sprintf("of-%d", n)
			a := &sample.Full{
				Team: team, Rule: sample.Rule(team, names), Switch: deadman(team, names), Source: sample.Source(team, names),
			}
			env.Create(ctx, a.Children()...)
			made = append(made, a)
		}
		for _, a := range made {
			env.EventuallyReady(ctx, a.Objects()...)
		}
		i.rests()
		i.hasOneEach(ctx, made)
		// Each was made once, or what was made twice was deleted again.
		i.countPosts("created", 3*teams)

		By("renaming, changing and making anew")
		i.Peer.ResetRequests()
		for n, a := range made {
			steps.Change(ctx, env, a.Team, func(t *v1alpha1.TerdutTeam) { t.Spec.DisplayName = fmt.Sprintf("Renamed %d", n) })
			steps.Change(ctx, env, a.Rule, func(r *v1alpha1.TerdutEscalationRule) { r.Spec.RepeatCount = 3 })
			steps.Change(ctx, env, a.Source, func(s *v1alpha1.TerdutAlertSource) { s.Spec.Name = fmt.Sprintf("renamed-%d", n) })
		}
		for _, a := range made {
			env.EventuallyReady(ctx, a.Objects()...)
		}
		i.rests()
		i.hasOneEach(ctx, made)
		i.countPosts("renamed", 0)

		By("deleting")
		for _, a := range made {
			env.Remove(ctx, a.Objects()...)
		}
		for _, a := range made {
			env.EventuallyGone(ctx, a.Objects()...)
		}
		Expect(i.Peer.Teams()).To(BeEmpty())
	})
})

// hasOneEach: the server has one object for each resource, under its own name,
// and that is the one that the resource has recorded. Who comes second may still be
// taking back what it has made, or making what it has taken.
func (i *install) hasOneEach(ctx SpecContext, made []*sample.Full) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(i.Peer.Teams()).To(HaveLen(len(made)))
		for _, a := range made {
			for _, o := range a.Objects() {
				g.Expect(env.Read(ctx, o)).To(Succeed())
				g.Expect(refs.RemoteOf(o).PendingCreate).To(BeNil())
				g.Expect(refs.RemoteOf(o).Retiring).To(BeEmpty())
			}
			team := a.Team.Status.TeamID
			g.Expect(i.Peer.Teams()).To(ContainElement(And(HaveField("ID", team), HaveField("Name", a.Team.Spec.DisplayName))))
			g.Expect(i.Peer.Escalation(team)).To(HaveField("RepeatCount", BeEquivalentTo(a.Rule.Spec.RepeatCount)))
			g.Expect(i.Peer.Switches(team)).To(ConsistOf(And(HaveField("ID", a.Switch.Status.SwitchID), HaveField("Name", a.Switch.Spec.Name))))
			g.Expect(i.Peer.Integrations(team)).To(ConsistOf(And(HaveField("ID", a.Source.Status.IntegrationID), HaveField("Name", a.Source.Spec.Name))))
		}
	}).Should(Succeed())
}

// countPosts: what was made less what was deleted again is what is wanted.
func (i *install) countPosts(of string, want int) {
	GinkgoHelper()
	posts := 0
	Eventually(func(g Gomega) {
		var deletes int
		posts, deletes = i.postsAndDeletes()
		g.Expect(posts-deletes).To(Equal(want), "%d made and %d deleted", posts, deletes)
	}).Should(Succeed())
	Expect(figures.Value(suite, "two-operators-posts-"+of, posts, "")).To(Succeed())
}

func (i *install) postsAndDeletes() (posts, deletes int) {
	for _, r := range i.Peer.Requests() {
		switch {
		case r.Path != "/api/teams" && r.Path != "/api/teams/{teamID}" && !isOfTeam(r.Path):
		case r.Method == "POST" && r.Status == 201:
			posts++
		case r.Method == "DELETE" && r.Status < 300:
			deletes++
		}
	}
	return posts, deletes
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
