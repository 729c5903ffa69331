package modes_test

import (
	"net/http"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

var _ = Describe("the key of a team", func() {
	DescribeTable("is one, whatever becomes of the call that makes it", func(ctx SpecContext, fault refserver.Fault, lacks ...string) {
		i := newInstall(ctx, v1alpha1.CredentialsScoped, lacks...)
		met := atomic.Int32{}
		i.Peer.SetFault(func(_ *http.Request, route string) refserver.Fault {
			if route == "POST /api/service-accounts" && met.Add(1) == 1 {
				return fault
			}
			return nil
		})
		t := i.team(ctx, i.Tenant, "Ours")
		i.hasKey(ctx, t)
		Expect(met.Load()).To(BeNumerically(">", 0))
		Expect(i.accounts()).To(HaveLen(1))
		keys := 0
		for _, k := range i.Peer.LiveKeys() {
			if k.OwnerID == i.accounts()[0].ID {
				keys++
			}
		}
		Expect(keys).To(Equal(1))
	},
		Entry("the answer is lost", refserver.Fault(refserver.LoseAnswer)),
		Entry("the answer is lost, and no key can be chosen", refserver.Fault(refserver.LoseAnswer), "chosen-keys"),
		Entry("the answer is lost, and no keys are listed", refserver.Fault(refserver.LoseAnswer), "list-keys"),
		Entry("it is carried out twice", refserver.Fault(refserver.Twice)),
		Entry("the connection is closed", refserver.Fault(refserver.Drop)),
		Entry("a 500", refserver.JSONError(500, "internal error")),
	)

	DescribeTable("stays what it is while the server lists no accounts", func(ctx SpecContext, fault refserver.Fault) {
		i := newInstall(ctx, v1alpha1.CredentialsScoped)
		t := i.team(ctx, i.Tenant, "Ours")
		old := i.hasKey(ctx, t)
		met := atomic.Int32{}
		i.Peer.SetFault(func(_ *http.Request, route string) refserver.Fault {
			if route == "GET /api/service-accounts" {
				met.Add(1)
				return fault
			}
			return nil
		})
		i.Peer.ResetRequests()
		Eventually(met.Load).Should(BeNumerically(">=", 3))
		Expect(key(keySecret(ctx, t))).To(Equal(old))
		Expect(i.Peer.Calls("POST", "DELETE")).To(BeEmpty())
		Expect(env.Told(ctx, t, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
		Expect(env.Told(ctx, t, v1alpha1.ConditionCredentialsReady)()).To(Equal("True KeyIssued"))
		i.Peer.SetFault(nil)
		Expect(i.Peer.KeyID(old)).NotTo(BeZero())
	},
		Entry("an empty list", refserver.Answer(200, "application/json", "[]")),
		Entry("a page", refserver.Answer(200, "text/html", "<html>hello</html>")),
		Entry("a missing route", refserver.Answer(404, "text/plain", "404 page not found")),
		Entry("a 500", refserver.JSONError(500, "internal error")),
	)

	It("outlives the loss of service accounts in mode Auto, and new teams are told", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsAuto)
		t := i.team(ctx, i.Tenant, "Ours")
		old := i.hasKey(ctx, t)
		less := refserver.AllCapabilities()
		Expect(less.TurnOff("service-accounts")).To(BeTrue())
		i.Peer.SetCapabilities(less)
		later := i.team(ctx, i.Tenant, "Later")
		env.EventuallyTold(ctx, later, v1alpha1.ConditionCredentialsReady, "False ScopedUnavailable")
		Eventually(env.Told(ctx, later, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
		Eventually(func() v1alpha1.CapabilityState {
			Expect(env.Read(ctx, i.Server)).To(Succeed())
			for _, c := range i.Server.Status.Capabilities {
				if c.Name == v1alpha1.CapabilityServiceAccounts {
					return c.State
				}
			}
			return ""
		}).Should(Equal(v1alpha1.CapabilityAbsent))
		Consistently(i.mode(ctx), 2*resync).Should(Equal(v1alpha1.CredentialsScoped))
		Expect(key(keySecret(ctx, t))).To(Equal(old))
		Expect(env.Told(ctx, t, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
		i.Peer.SetCapabilities(refserver.AllCapabilities())
		i.hasKey(ctx, later)
	})
})
