package e2e

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/test/e2e/cluster"
)

// seedVariable repeats the order of kills of an earlier run.
const seedVariable = "E2E_SEED"

// The pause between two kills. After a crash the lease runs for 15 seconds more, so the longest pause has to be above that:
// otherwise nobody might ever work.
const (
	shortestPause = 10 * time.Second
	longestPause  = 35 * time.Second
)

// operatorPods are the pods of the operator, however it was installed.
var operatorPods = client.MatchingLabels{"app.kubernetes.io/name": "terdut-operator"}

// The ways in which an operator ends.
const (
	inOrder = "in order"
	hurried = "without grace"
	crashed = "by SIGKILL"
)

// killer ends operator pods at random moments, in each of the ways.
type killer struct {
	kube client.Client
	// crash ends a container by SIGKILL, where that is possible.
	crash  func(ctx context.Context, id string) error
	random *rand.Rand
	cancel context.CancelFunc
	done   chan struct{}

	// quiet is held while nothing may be killed.
	quiet sync.Mutex

	mu    sync.Mutex
	kills int
}

func newKiller(kube client.Client, crash func(context.Context, string) error) *killer {
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	say("operator pods are killed at random; %s=%d repeats it", seedVariable, seed)
	return &killer{kube: kube, crash: crash, random: rand.New(rand.NewPCG(seed, seed))} //nolint:gosec // chance, not secrecy
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
	how := []string{inOrder, hurried, crashed}[k.random.IntN(3)]
	if restarted(pod) && how == crashed {
		how = hurried // the kubelet would hold a second crash against it and wait
	}
	how, err := k.end(ctx, pod, how)
	if err != nil {
		return
	}
	k.mu.Lock()
	k.kills++
	k.mu.Unlock()
	say("operator pod %s is ended %s", pod.Name, how)
}

// end ends a pod of the operator in one way, and returns which it was: where nothing can crash it is without grace.
func (k *killer) end(ctx context.Context, pod *corev1.Pod, how string) (string, error) {
	if how == crashed && len(pod.Status.ContainerStatuses) == 1 {
		_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
		if err := k.crash(ctx, id); !errors.Is(err, cluster.ErrNotPossible) {
			return crashed, err
		}
	}
	if how == inOrder {
		return inOrder, k.kube.Delete(ctx, pod)
	}
	return hurried, k.kube.Delete(ctx, pod, client.GracePeriodSeconds(0))
}

func restarted(pod *corev1.Pod) bool {
	return len(pod.Status.ContainerStatuses) != 1 || pod.Status.ContainerStatuses[0].RestartCount > 0
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
