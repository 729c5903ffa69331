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
		i.peer.SetFault(func(_ *http.Request, route string) refserver.Fault {
			if route == "POST /api/service-accounts" && met.Add(1) == 1 {
				return fault
			}
			return nil
		})
		t := i.team(ctx, i.tenant, "Ours")
		i.hasKey(ctx, t)
		Expect(met.Load()).To(BeNumerically(">", 0))
		Expect(i.accounts()).To(HaveLen(1))
		keys := 0
		for _, k := range i.peer.LiveKeys() {
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
		t := i.team(ctx, i.tenant, "Ours")
		old := i.hasKey(ctx, t)
		met := atomic.Int32{}
		i.peer.SetFault(func(_ *http.Request, route string) refserver.Fault {
			if route == "GET /api/service-accounts" {
				met.Add(1)
				return fault
			}
			return nil
		})
		i.peer.ResetRequests()
		Eventually(met.Load).Should(BeNumerically(">=", 3))
		Expect(key(keySecret(ctx, t))).To(Equal(old))
		Expect(i.peer.Calls("POST", "DELETE")).To(BeEmpty())
		Expect(told(ctx, t, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
		Expect(told(ctx, t, v1alpha1.ConditionCredentialsReady)()).To(Equal("True KeyIssued"))
		i.peer.SetFault(nil)
		Expect(i.peer.KeyID(old)).NotTo(BeZero())
	},
		Entry("an empty list", refserver.Answer(200, "application/json", "[]")),
		Entry("a page", refserver.Answer(200, "text/html", "<html>hello</html>")),
		Entry("a missing route", refserver.Answer(404, "text/plain", "404 page not found")),
		Entry("a 500", refserver.JSONError(500, "internal error")),
	)

	It("outlives the loss of service accounts in mode Auto, and new teams are told", func(ctx SpecContext) {
		i := newInstall(ctx, v1alpha1.CredentialsAuto)
		t := i.team(ctx, i.tenant, "Ours")
		old := i.hasKey(ctx, t)
		less := refserver.AllCapabilities()
		Expect(less.TurnOff("service-accounts")).To(BeTrue())
		i.peer.SetCapabilities(less)
		later := i.team(ctx, i.tenant, "Later")
		eventuallyTold(ctx, later, v1alpha1.ConditionCredentialsReady, "False ScopedUnavailable")
		Eventually(told(ctx, later, v1alpha1.ConditionReady)).Should(Equal("True Ready"))
		Eventually(func() v1alpha1.CapabilityState {
			Expect(read(ctx, i.server)).To(Succeed())
			for _, c := range i.server.Status.Capabilities {
				if c.Name == v1alpha1.CapabilityServiceAccounts {
					return c.State
				}
			}
			return ""
		}).Should(Equal(v1alpha1.CapabilityAbsent))
		Consistently(i.mode(ctx), 2*resync).Should(Equal(v1alpha1.CredentialsScoped))
		Expect(key(keySecret(ctx, t))).To(Equal(old))
		Expect(told(ctx, t, v1alpha1.ConditionReady)()).To(Equal("True Ready"))
		i.peer.SetCapabilities(refserver.AllCapabilities())
		i.hasKey(ctx, later)
	})
})
