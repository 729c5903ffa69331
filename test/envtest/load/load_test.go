package load_test

import (
	"fmt"
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// The specs are one story: what is made by one is measured by the next.
var _ = Describe("a thousand teams of one server", Ordered, func() {
	var (
		w          *world
		stop       func() error
		namespaces []string
		n          = objects()
		// bare is what the operator takes without teams.
		bare int
	)

	// took is what the running operator takes: the heap with it, less that
	// without it. It leaves the operator stopped.
	took := func() int {
		GinkgoHelper()
		w.peer.ResetRequests()
		env.Requests.Reset()
		with := heap()
		Expect(stop()).To(Succeed())
		return with - heap()
	}

	BeforeAll(func(ctx SpecContext) {
		stop = start()
		w = newWorld(ctx)
		for range 20 {
			namespaces = append(namespaces, namespace(ctx, "tenant"))
		}
		bare = took()
		stop = start()
	})
	AfterAll(func() { Expect(stop()).To(Succeed()) })

	It("are made with few passes each, however many attach", func(ctx SpecContext) {
		before, begin := passes(), time.Now()
		w.teams(ctx, namespaces, "Team", n)
		Eventually(func() int { return count(ctx, namespaces, v1alpha1.ConditionReady, "True Ready") }).
			WithPolling(time.Second).Should(Equal(n))
		publish("create-seconds", math.Round(time.Since(begin).Seconds()*10)/10, "s")
		each := float64(passes()-before) / float64(n)
		publish("passes-per-new-cr", math.Round(each*10)/10, "")
		Expect(w.peer.Teams()).To(HaveLen(n))
		// Every team changes the server's count; if that woke the others there
		// would be as many passes as there are teams.
		Expect(each).To(BeNumerically("<", 25))
	})

	It("cost one list in a resync and no write at rest", func() {
		eventuallyPasses(n)
		w.peer.ResetRequests()
		env.Requests.Reset()
		before := passes()
		Eventually(func() int { return len(w.times("/api/teams")) }).Should(BeNumerically(">=", 3))
		most := mostInWindow(w.times("/api/teams"))
		Expect(passes()-before).To(BeNumerically(">", n), "all teams were looked at meanwhile")
		publish("list-requests-per-window", most, "")
		publish("writes-at-rest", total(teamWrites())+w.peer.Writes(), "")
		Expect(most).To(Equal(1))
		Expect(teamWrites()).To(BeEmpty())
		Expect(w.peer.Writes()).To(BeZero())
	})

	It("cost no write at a restart", func() {
		Expect(stop()).To(Succeed())
		w.peer.ResetRequests()
		env.Requests.Reset()
		begin := time.Now()
		stop = start()
		eventuallyPasses(n)
		publish("restart-seconds", math.Round(time.Since(begin).Seconds()*10)/10, "s")
		eventuallyPasses(n)
		publish("restart-writes", total(teamWrites())+w.peer.Writes(), "")
		Expect(teamWrites()).To(BeEmpty())
		Expect(w.peer.Writes()).To(BeZero())
	})

	It("take little memory beside what they are", func(ctx SpecContext) {
		settled := took()
		before := heap()
		kept := all(ctx, namespaces)
		for i := range kept {
			kept[i].ManagedFields = nil
		}
		each := float64(heap()-before) / float64(n)
		beyond := float64(settled-bare)/float64(n) - each
		publish("object-bytes", math.Round(each), "bytes")
		publish("bytes-per-cr", math.Round(beyond), "bytes")
		Expect(kept).To(HaveLen(n))
		stop = start()
		eventuallyPasses(n)
	})

	It("cost a dead server one probe at a time and one write each", func(ctx SpecContext) {
		synced := func(want string) func() int {
			return func() int { return count(ctx, namespaces, v1alpha1.ConditionSynced, want) }
		}
		w.peer.Down(true)
		Eventually(func() bool {
			Expect(env.Admin.Get(ctx, client.ObjectKeyFromObject(w.server), w.server)).To(Succeed())
			return meta.IsStatusConditionTrue(w.server.Status.Conditions, v1alpha1.ConditionReady)
		}).Should(BeFalse(), "an outage is the server's news")
		env.Requests.Reset()
		w.peer.ResetDials()
		eventuallyPasses(n)
		Expect(teamWrites()).To(BeEmpty(), "nobody says anything yet")

		ahead.Add(int64(2 * time.Minute))
		Eventually(synced("Unknown ServerUnreachable")).WithPolling(time.Second).Should(Equal(n))
		Expect(count(ctx, namespaces, v1alpha1.ConditionReady, "True Ready")).To(Equal(n), "what was applied stays applied")
		eventuallyPasses(n)
		writes := teamWrites()
		Expect(writes).To(HaveLen(n))
		Expect(total(writes)).To(Equal(n), "one write each in the whole outage")
		dials, atOnce := w.peer.Dials()
		publish("outage-writes-per-cr", float64(total(writes))/float64(n), "")
		publish("probes-in-flight-while-down", atOnce, "")
		Expect(dials).To(BeNumerically(">", 3))
		Expect(atOnce).To(Equal(1))

		By("recovery")
		// One team of each namespace has another name when the server is back.
		for i, namespace := range namespaces {
			drifted := all(ctx, []string{namespace})[0]
			Expect(w.peer.RenameTeam(drifted.Status.TeamID, fmt.Sprintf("Somebody's %d", i))).To(Succeed())
		}
		env.Requests.Reset()
		w.peer.ResetRequests()
		begin := time.Now()
		w.peer.Down(false)
		var repaired time.Time
		Eventually(func() bool {
			for _, r := range w.peer.Requests() {
				if r.Write() {
					repaired = r.At
					return true
				}
			}
			return false
		}).Should(BeTrue())
		publish("recovery-seconds", math.Round(repaired.Sub(begin).Seconds()*100)/100, "s")
		Eventually(synced("True InSync")).WithPolling(time.Second).Should(Equal(n))
		publish("recovery-of-all-seconds", math.Round(time.Since(begin).Seconds()*10)/10, "s")
		Expect(total(teamWrites())).To(Equal(n), "recovery is one write each")
	})
})
