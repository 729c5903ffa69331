package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// seedVariable repeats the order of kills of an earlier run.
const seedVariable = "E2E_SEED"

// The pause between two kills. A killed leader's lease runs for 15 seconds more: with shorter pauses nobody would ever
// work.
const (
	shortestPause = 20 * time.Second
	longestPause  = 60 * time.Second
)

// operatorPods are the pods of the operator, however it was installed.
var operatorPods = client.MatchingLabels{"app.kubernetes.io/name": "terdut-operator"}

// killer kills operator pods at random moments: half of them without a warning.
type killer struct {
	kube   client.Client
	random *rand.Rand
	cancel context.CancelFunc
	done   chan struct{}

	// quiet is held while nothing may be killed.
	quiet sync.Mutex

	mu    sync.Mutex
	kills int
}

func newKiller(kube client.Client) *killer {
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	say("operator pods are killed at random; %s=%d repeats it", seedVariable, seed)
	return &killer{kube: kube, random: rand.New(rand.NewPCG(seed, seed))} //nolint:gosec // chance, not secrecy
}

// start begins to kill. It goes on over all steps.
func (k *killer) start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel, k.done = cancel, make(chan struct{})
	go func() {
		defer close(k.done)
		timer := time.NewTimer(k.pause())
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			k.quiet.Lock()
			k.kill(ctx)
			k.quiet.Unlock()
			timer.Reset(k.pause())
		}
	}()
}

func (k *killer) pause() time.Duration {
	return shortestPause + time.Duration(k.random.Int64N(int64(longestPause-shortestPause)))
}

// kill kills one pod. An API server that does not answer just now is no reason to complain.
func (k *killer) kill(ctx context.Context) {
	pods := &corev1.PodList{}
	if err := k.kube.List(ctx, pods, client.InNamespace(system), operatorPods); err != nil || len(pods.Items) == 0 {
		return
	}
	pod := &pods.Items[k.random.IntN(len(pods.Items))]
	var options []client.DeleteOption
	how := "in order"
	if k.random.IntN(2) == 0 {
		options, how = append(options, client.GracePeriodSeconds(0)), "without a warning"
	}
	if err := k.kube.Delete(ctx, pod, options...); err != nil {
		return
	}
	k.mu.Lock()
	k.kills++
	k.mu.Unlock()
	say("operator pod %s is ended %s", pod.Name, how)
}

// count is the number of pods that were killed.
func (k *killer) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kills
}

// rest keeps the killer quiet until the function that it returns is called.
func (k *killer) rest() (resume func()) {
	k.quiet.Lock()
	return k.quiet.Unlock
}

// stop ends it. It may be called on one that never started.
func (k *killer) stop() {
	if k.cancel == nil {
		return
	}
	k.cancel()
	<-k.done
	k.cancel = nil
}
