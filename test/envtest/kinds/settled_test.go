package kinds_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
)

// versionsOf are the resourceVersions of objects as they were read last.
func versionsOf(objects []client.Object) map[string]string {
	out := map[string]string{}
	for _, o := range objects {
		out[string(o.GetUID())] = o.GetResourceVersion()
	}
	return out
}

var _ = Describe("an untouched install", func() {
	// Alone, since every other spec's objects are looked at again as well.
	It("costs no write on either plane", Serial, func(ctx SpecContext) {
		i := env.ReadyInstall(ctx, refserver.Options{})
		a := i.Full(ctx)
		objects := append([]client.Object{i.Server, webhook(ctx, a.Source)}, a.Objects()...)
		// The number of teams is told once a minute at most, and may be told
		// once more.
		lookedAt := func() int { return len(teamCalls(i)) }
		i.Peer.ResetRequests()
		Eventually(lookedAt).Should(BeNumerically(">=", 8))
		for _, o := range objects {
			Expect(env.Read(ctx, o)).To(Succeed())
		}
		before := versionsOf(objects)
		i.Peer.ResetRequests()
		env.Requests.Reset()
		// Four kinds, one list each at every resync.
		Eventually(lookedAt, 30*resync).Should(BeNumerically(">=", 40))
		for _, o := range objects {
			Expect(env.Read(ctx, o)).To(Succeed())
		}
		Expect(versionsOf(objects)).To(Equal(before))
		writes := i.Peer.Writes()
		for _, w := range env.Requests.Writes(i.Platform, i.Tenant) {
			writes++
			AddReportEntry("write", w)
		}
		Expect(figures.Value(suite, "settled-writes", writes, "")).To(Succeed())
		Expect(writes).To(BeZero())
	})
})
