package kinds_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

var _ = Describe("deletion", func() {
	It("takes everything off the server, kind by kind", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		id := a.team.Status.TeamID
		secret := webhook(ctx, a.source)
		remove(ctx, a.children...)
		eventuallyGone(ctx, a.children...)
		Expect(i.peer.Escalation(id).Levels).To(BeEmpty())
		Expect(i.peer.Switches(id)).To(BeEmpty())
		Expect(i.peer.Integrations(id)).To(BeEmpty())
		eventuallyGone(ctx, secret)
		remove(ctx, a.team)
		eventuallyGone(ctx, a.team)
		Expect(i.peer.Teams()).To(BeEmpty())
	})

	It("ends when everything is deleted at once", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		remove(ctx, a.objects...)
		eventuallyGone(ctx, a.objects...)
		Expect(i.peer.Teams()).To(BeEmpty())
	})

	It("waits for a server that is down, says so, and ends when it is back", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		i.peer.Down(true)
		remove(ctx, a.objects...)
		for _, o := range a.objects {
			eventuallyTold(ctx, o, v1alpha1.ConditionDegraded, "True ServerUnreachable")
			Expect(o.GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
			eventuallyEvent(ctx, o, HavePrefix("Warning ServerUnreachable"))
		}
		i.peer.Down(false)
		eventuallyGone(ctx, a.objects...)
		Expect(i.peer.Teams()).To(BeEmpty())
	})

	It("calls nobody for what was never permitted", func(ctx SpecContext) {
		i := newInstall(ctx)
		stranger := namespace(ctx, "stranger", nil)
		team := i.teamIn(stranger, "Payments")
		create(ctx, team)
		eventuallyTold(ctx, team, v1alpha1.ConditionReady, "False RefNotPermitted")
		i.peer.ResetRequests()
		remove(ctx, team)
		eventuallyGone(ctx, team)
		Expect(teamCalls(i)).To(BeEmpty())
	})

	It("ends with the tenant's namespace", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.tenant}}
		remove(ctx, ns)
		eventuallyGone(ctx, append([]client.Object{ns}, a.objects...)...)
		Expect(i.peer.Teams()).To(BeEmpty())
	})

	It("ends with the namespaces of server and tenant", func(ctx SpecContext) {
		i := newInstall(ctx)
		a := i.full(ctx)
		platform := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.platform}}
		tenant := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.tenant}}
		i.peer.Down(true) // the pods go with their namespace
		remove(ctx, platform, tenant)
		eventuallyGone(ctx, append([]client.Object{platform, tenant, i.server}, a.objects...)...)
	})
})
