package load_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"

	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
)

const (
	// crowd is how many teams arrive for each object of the suite.
	crowd = 5
	// pace is how many of them arrive in a second: what kubectl and the GitOps
	// tools allow themselves.
	pace = 50
	// every is how often the neighbour adds a team.
	every = 500 * time.Millisecond
)

// neighbour is the tenant who adds one team now and then.
type neighbour struct {
	*world
	namespace string
	made      int
}

// one adds a team and returns how long it took to become Ready.
func (n *neighbour) one(ctx context.Context) time.Duration {
	GinkgoHelper()
	n.made++
	begin := time.Now()
	t := n.team(ctx, n.namespace, fmt.Sprintf("Neighbour %d", n.made))
	Eventually(func() bool { return isReady(ctx, t) }).WithPolling(5 * time.Millisecond).Should(BeTrue())
	return time.Since(begin)
}

// sample adds teams at the neighbour's pace, at least thirty and until it is
// told to stop, and returns how long each took, the fastest first.
func (n *neighbour) sample(ctx context.Context, until <-chan struct{}) (times []time.Duration) {
	GinkgoHelper()
	turn := rate.NewLimiter(rate.Every(every), 1)
	for {
		Expect(turn.Wait(ctx)).To(Succeed())
		times = append(times, n.one(ctx))
		if len(times) < 30 {
			continue
		}
		select {
		case <-until:
			slices.Sort(times)
			return times
		default:
		}
	}
}

// The limits are the defaults: what one tenant takes of them is what another
// has to wait for.
var _ = Describe("a namespace in which thousands of teams arrive", Ordered, func() {
	It("does not delay the single team of another", func(ctx SpecContext) {
		stop := startWith(connect.Limits{}, 10*time.Minute)
		defer func() { Expect(stop()).To(Succeed()) }()
		w := newWorld(ctx)
		full := namespace(ctx, "crowd")
		n := &neighbour{world: w, namespace: namespace(ctx, "neighbour")}

		now := make(chan struct{})
		close(now)
		idle := n.sample(ctx, now)

		arrived := make(chan struct{})
		go func() {
			defer GinkgoRecover()
			defer close(arrived)
			turn := rate.NewLimiter(pace, 1)
			for i := range crowd * objects() {
				Expect(turn.Wait(ctx)).To(Succeed())
				w.team(ctx, full, fmt.Sprintf("Crowd %d", i))
			}
		}()
		busy := n.sample(ctx, arrived)

		slowest := func(times []time.Duration) time.Duration { return times[len(times)*99/100] }
		median := func(times []time.Duration) time.Duration { return times[len(times)/2] }
		ratio := func(of func([]time.Duration) time.Duration) float64 {
			return math.Round(of(busy).Seconds()/of(idle).Seconds()*100) / 100
		}
		publish("neighbour-idle-ms", slowest(idle).Milliseconds(), "ms")
		publish("neighbour-busy-ms", slowest(busy).Milliseconds(), "ms")
		publish("neighbour-ratio", ratio(slowest), "")
		publish("neighbour-median-ratio", ratio(median), "")
		publish("neighbour-samples", len(busy), "")
		Expect(len(w.peer.Teams())).To(BeNumerically("<", crowd*objects()), "the crowd still waits for the server when the last sample is taken")

		Expect(stop()).To(Succeed())
		stop = start() // with limits that make an end of it
		w.clear(ctx, full, n.namespace)
	})
})
