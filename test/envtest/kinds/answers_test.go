package kinds_test

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/model"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// peerSwitch makes a switch as a person would.
func peerSwitch(i *steps.Install, team int64, name, matcher string) {
	GinkgoHelper()
	_, err := i.Peer.Model().CreateSwitch(team, model.Switch{Name: name, Matcher: matcher, TimeoutText: "15m", Severity: "critical"})
	Expect(err).NotTo(HaveOccurred())
}

var _ = Describe("an answer that proves nothing", func() {
	DescribeTable("leads to no call that makes or deletes, and to one write when it is over",
		func(ctx SpecContext, fault refserver.Fault, reason string) {
			i := env.ReadyInstall(ctx, refserver.Options{})
			a := i.Full(ctx)
			i.Peer.SetFault(func(r *http.Request, route string) refserver.Fault {
				// The server's own key is asked about elsewhere.
				if route == "GET /api/me" || route == "GET /healthz" {
					return nil
				}
				return fault
			})
			i.Peer.ResetRequests()
			for _, o := range a.Objects() {
				env.EventuallyTold(ctx, o, v1alpha1.ConditionSynced, "Unknown "+reason)
				Expect(env.Told(ctx, o, v1alpha1.ConditionReady)()).To(Equal("True Ready"), "%T", o)
			}
			before := versionsOf(a.Objects())
			Consistently(func() map[string]string {
				for _, o := range a.Objects() {
					Expect(env.Read(ctx, o)).To(Succeed())
				}
				return versionsOf(a.Objects())
			}, 2*resync).Should(Equal(before), "the same answer again is no news")
			Expect(i.Peer.Calls("POST", "DELETE", "PUT", "PATCH")).To(BeEmpty())

			// Everything rests until the answers are right again.
			env.Requests.Reset()
			i.Peer.SetFault(nil)
			for _, o := range a.Objects() {
				env.EventuallyTold(ctx, o, v1alpha1.ConditionSynced, "True InSync")
			}
			Expect(env.Requests.Writes(i.Tenant)).To(HaveLen(len(a.Objects())), "one write for each")
			Expect(i.Peer.Calls("POST", "DELETE", "PUT", "PATCH")).To(BeEmpty())
			for _, o := range a.Objects() {
				Expect(meta.IsStatusConditionTrue(steps.Conditions(o), v1alpha1.ConditionReady)).To(BeTrue())
			}
		},
		Entry("a page", refserver.Answer(200, "text/html", "<html>hello</html>"), "UnexpectedAnswer"),
		Entry("an empty list", refserver.Answer(200, "application/json", "[]"), "UnexpectedAnswer"),
		Entry("null", refserver.Answer(200, "application/json", "null"), "UnexpectedAnswer"),
		Entry("half an answer", refserver.Fault(refserver.Truncate), "UnexpectedAnswer"),
		Entry("a missing route", refserver.Answer(404, "text/plain", "404 page not found"), "RouteMissing"),
		Entry("a 500", refserver.JSONError(500, "internal error"), "ServerUnreachable"),
		Entry("a 401", refserver.JSONError(401, "unauthorized"), "CredentialRejected"),
		Entry("a closed connection", refserver.Fault(refserver.Drop), "ServerUnreachable"),
	)
})
