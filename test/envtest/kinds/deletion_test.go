package kinds_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

var _ = Describe("deletion", func() {
	It("takes everything off the server, kind by kind", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		id := a.Team.Status.TeamID
		secret := webhook(ctx, a.Source)
		env.Remove(ctx, a.Children()...)
		env.EventuallyGone(ctx, a.Children()...)
		Expect(i.Peer.Escalation(id).Levels).To(BeEmpty())
		Expect(i.Peer.Switches(id)).To(BeEmpty())
		Expect(i.Peer.Integrations(id)).To(BeEmpty())
		env.EventuallyGone(ctx, secret)
		env.Remove(ctx, a.Team)
		env.EventuallyGone(ctx, a.Team)
		Expect(i.Peer.Teams()).To(BeEmpty())
	})

	It("ends when everything is deleted at once", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		env.Remove(ctx, a.Objects()...)
		env.EventuallyGone(ctx, a.Objects()...)
		Expect(i.Peer.Teams()).To(BeEmpty())
	})

	It("waits for a server that is down, says so, and ends when it is back", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		i.Peer.Down(true)
		env.Remove(ctx, a.Objects()...)
		for _, o := range a.Objects() {
			env.EventuallyTold(ctx, o, v1alpha1.ConditionDegraded, "True ServerUnreachable")
			Expect(o.GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
			env.EventuallyEvent(ctx, o, HavePrefix("Warning ServerUnreachable"))
		}
		i.Peer.Down(false)
		env.EventuallyGone(ctx, a.Objects()...)
		Expect(i.Peer.Teams()).To(BeEmpty())
	})

	It("calls nobody for what was never permitted", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		stranger := env.NewNamespace(ctx, "stranger", nil)
		team := i.TeamIn(stranger, "Payments")
		env.Create(ctx, team)
		env.EventuallyTold(ctx, team, v1alpha1.ConditionReady, "False RefNotPermitted")
		i.Peer.ResetRequests()
		env.Remove(ctx, team)
		env.EventuallyGone(ctx, team)
		Expect(teamCalls(i)).To(BeEmpty())
	})

	It("ends with the tenant's namespace", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.Tenant}}
		env.Remove(ctx, ns)
		env.EventuallyGone(ctx, append([]client.Object{ns}, a.Objects()...)...)
		Expect(i.Peer.Teams()).To(BeEmpty())
	})

	It("ends with the namespaces of server and tenant", func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		platform := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.Platform}}
		tenant := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.Tenant}}
		i.Peer.Down(true) // the pods go with their namespace
		env.Remove(ctx, platform, tenant)
		env.EventuallyGone(ctx, append([]client.Object{platform, tenant, i.Server}, a.Objects()...)...)
	})
})
