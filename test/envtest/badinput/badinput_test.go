package badinput_test

import (
	"context"
	"net/http"
	"regexp"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// calm is how many calls a server may get in two resyncs, whatever it answers:
// four objects with a few calls each, and probes. A hot loop makes thousands.
const calm = 200

var _ = Describe("a server that answers with", func() {
	for _, answer := range badAnswers {
		It(answer.name, func(ctx SpecContext) {
			together(
				func() { answer.whileCreated(ctx) },
				func() { answer.whileStanding(ctx) },
				func() { answer.whileDeleted(ctx) },
			)
		})
	}
})

// whileCreated: nothing is made twice.
func (b badAnswer) whileCreated(ctx context.Context) {
	if b.listsOnly {
		return
	}
	defer counted()()
	i := newInstall(ctx)
	i.proxy.ResetRequests()
	i.proxy.misbehave(firstOfEach(b.with))
	i.full(ctx)
	i.proxy.misbehave(nil)
	i.expectOneOfEach(ctx)
	Expect(i.proxy.handled("POST", "/api/teams")).To(Equal(1))
	Expect(i.proxy.handled("DELETE", "/api/teams/{teamID}")).To(BeZero())
	Expect(i.proxy.handled("POST", "/deadman-switches")).To(Equal(1))
	Expect(i.proxy.handled("DELETE", "/deadman-switches/{switchID}")).To(BeZero())
	// Its key was in the answer and is lost: the one is exchanged for another,
	// which nobody knows yet.
	Expect(i.proxy.handled("POST", "/integrations")).To(Equal(2))
	Expect(i.proxy.handled("DELETE", "/integrations/{integrationID}")).To(Equal(1))
}

// whileStanding: nothing is changed, and what was applied is still told.
func (b badAnswer) whileStanding(ctx context.Context) {
	if b.writesOnly {
		return
	}
	defer counted()()
	i := newInstall(ctx)
	i.full(ctx)
	i.proxy.misbehave(everything(b.with))
	for _, o := range i.met(b) {
		if b.reason == v1alpha1.ReasonRedirectRefused {
			env.EventuallyTold(ctx, o, v1alpha1.ConditionSynced, "False "+b.reason)
			continue
		}
		env.EventuallyTold(ctx, o, v1alpha1.ConditionSynced, "Unknown "+b.reason)
		Expect(env.Told(ctx, o, v1alpha1.ConditionReady)()).To(Equal("True Ready"), "what was applied is applied")
	}
	i.eventuallyCalm(ctx)
	Expect(i.proxy.called("POST", "PUT", "PATCH", "DELETE")).To(BeEmpty())

	i.proxy.misbehave(nil)
	for _, o := range i.Objects() {
		env.EventuallyTold(ctx, o, v1alpha1.ConditionSynced, "True InSync")
	}
	Expect(i.proxy.called("POST", "PUT", "PATCH", "DELETE")).To(BeEmpty())
	i.expectOneOfEach(ctx)
}

// whileDeleted: nothing is let go before it is gone.
func (b badAnswer) whileDeleted(ctx context.Context) {
	if b.writesOnly {
		return
	}
	defer counted()()
	i := newInstall(ctx)
	i.full(ctx)
	i.proxy.misbehave(everything(b.with))
	env.Remove(ctx, i.met(b)...)
	i.expectHeld(ctx, b)
	Expect(i.proxy.called("POST", "PUT", "PATCH", "DELETE")).To(BeEmpty())
	if !b.needsBody && !b.provesAbsence {
		i.proxy.misbehave(func(r *http.Request) *spoiling {
			if !api(r) || r.Method == http.MethodGet {
				return nil
			}
			return &spoiling{with: b.with}
		})
		i.expectHeld(ctx, b)
		Expect(i.proxy.called("POST")).To(BeEmpty())
	}
	id := i.Team.Status.TeamID
	Expect(i.proxy.Teams()).To(HaveLen(1))
	Expect(i.proxy.Escalation(id).Levels).To(HaveLen(1))
	Expect(i.proxy.Switches(id)).To(HaveLen(1))
	Expect(i.proxy.Integrations(id)).To(HaveLen(1))

	i.proxy.misbehave(nil)
	env.EventuallyGone(ctx, i.met(b)...)
	Expect(i.proxy.Teams()).To(BeEmpty())
}

// met are the objects about which a server that answers so says nothing.
func (i *install) met(b badAnswer) []client.Object {
	if b.sparesRules {
		return []client.Object{i.Team, i.Switch, i.Source}
	}
	return i.Objects()
}

// together runs bodies side by side: most of the time all of them wait.
func together(bodies ...func()) {
	var running sync.WaitGroup
	for _, body := range bodies {
		running.Go(func() {
			defer GinkgoRecover()
			body()
		})
	}
	running.Wait()
}

// everything spoils every call about what lives on the server. What would
// change something does not reach it.
func everything(with spoiler) func(*http.Request) *spoiling {
	return func(r *http.Request) *spoiling {
		if !api(r) {
			return nil
		}
		return &spoiling{reaches: r.Method == http.MethodGet, with: with}
	}
}

var number = regexp.MustCompile(`\d+`)

// firstOfEach spoils the answer to the first of each sort of writes, after the
// server has done its work.
func firstOfEach(with spoiler) func(*http.Request) *spoiling {
	var mu sync.Mutex
	met := map[string]bool{}
	return func(r *http.Request) *spoiling {
		if !api(r) || r.Method == http.MethodGet || r.Method == http.MethodDelete {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		sort := r.Method + number.ReplaceAllString(r.URL.Path, "N")
		if met[sort] {
			return nil
		}
		met[sort] = true
		return &spoiling{reaches: true, with: with}
	}
}

// eventuallyCalm: the same answer again is no news, and nobody asks in a hot
// loop.
func (i *install) eventuallyCalm(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		before, already := versions(ctx, i.Objects()...), len(i.proxy.called())
		g.Consistently(func() map[string]string { return versions(ctx, i.Objects()...) }, 2*resync).Should(Equal(before))
		g.Expect(len(i.proxy.called()) - already).To(BeNumerically("<", calm))
	}).Should(Succeed())
}

// expectHeld: every object says why it cannot go, and stays.
func (i *install) expectHeld(ctx context.Context, b badAnswer) {
	GinkgoHelper()
	for _, o := range i.met(b) {
		if o != client.Object(i.Team) { // it waits for what belongs to it
			env.EventuallyTold(ctx, o, v1alpha1.ConditionDegraded, "True "+b.reason)
		}
	}
	for _, o := range i.Objects() {
		Expect(env.Read(ctx, o)).To(Succeed())
		Expect(o.GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
	}
	i.eventuallyCalm(ctx)
}
