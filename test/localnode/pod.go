package localnode

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// shortGrace is what a process gets when nobody waits for its pod: the node stops, or the pod is gone already.
const shortGrace = 2 * time.Second

// worker runs one pod from its binding to its end, and is the only writer of its status.
type worker struct {
	node    *Node
	address string
	started metav1.Time
	// pod is the newest version that the watch has shown.
	pod atomic.Pointer[corev1.Pod]
	// containers are first the init containers and then the others.
	containers []*container
	inits      int

	// changed holds at most one wish for a write of the status.
	changed chan struct{}
	// ending is closed when the pod is to be ended, deleted when the API has it no more.
	ending, deleted         chan struct{}
	endingOnce, deletedOnce sync.Once
}

func newWorker(node *Node, pod *corev1.Pod, address string) *worker {
	w := &worker{
		node:    node,
		address: address,
		started: metav1.Now().Rfc3339Copy(),
		inits:   len(pod.Spec.InitContainers),
		changed: make(chan struct{}, 1),
		ending:  make(chan struct{}),
		deleted: make(chan struct{}),
	}
	if pod.Status.StartTime != nil {
		w.started = *pod.Status.StartTime
	}
	for i := range pod.Spec.InitContainers {
		w.containers = append(w.containers, newContainer(w, &pod.Spec.InitContainers[i], true))
	}
	for i := range pod.Spec.Containers {
		w.containers = append(w.containers, newContainer(w, &pod.Spec.Containers[i], false))
	}
	w.update(pod)
	w.notify()
	return w
}

func (w *worker) main() []*container { return w.containers[w.inits:] }

// update takes over a newer version of the pod.
func (w *worker) update(pod *corev1.Pod) {
	w.pod.Store(pod)
	if pod.DeletionTimestamp != nil {
		w.endingOnce.Do(func() { close(w.ending) })
	}
}

// gone says that the API server has the pod no more.
func (w *worker) gone() {
	w.deletedOnce.Do(func() { close(w.deleted) })
	w.endingOnce.Do(func() { close(w.ending) })
}

func (w *worker) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *worker) wake() {
	for _, c := range w.containers {
		select {
		case c.woken <- struct{}{}:
		default:
		}
	}
}

// grace is how long the processes may take to end.
func (w *worker) grace() time.Duration {
	pod := w.pod.Load()
	select {
	case <-w.deleted:
		return shortGrace
	default:
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return shortGrace
	}
	return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
}

// run returns when the pod has been deleted, or when ctx ends; then no process of the pod is left.
func (w *worker) run(ctx context.Context) {
	processes, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.runContainers(processes)
	}()
	ending := w.ending
	for {
		select {
		case <-w.changed:
			w.writeStatus(ctx)
		case <-ending:
			ending = nil
			end()
		case <-ended:
			w.settle(ctx)
			return
		}
	}
}

// settle waits, with no process running, until the pod is deleted, and then lets go of it.
func (w *worker) settle(ctx context.Context) {
	for ctx.Err() == nil {
		w.writeStatus(ctx)
		select {
		case <-w.deleted:
			return
		case <-w.ending:
			if w.release(ctx) {
				return
			}
			select {
			case <-ctx.Done():
			case <-w.deleted:
			case <-time.After(retryInterval):
			}
		case <-w.changed:
		case <-ctx.Done():
		}
	}
}

// release takes the terminated pod out of the API, as a kubelet does when its containers have ended.
func (w *worker) release(ctx context.Context) bool {
	pod := w.pod.Load()
	err := w.node.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true
	}
	w.node.say("delete pod %s/%s: %v", pod.Namespace, pod.Name, err)
	return false
}

// runContainers runs the init containers in order and then the others together. It returns when all have ended for good.
func (w *worker) runContainers(ctx context.Context) {
	pod := w.pod.Load()
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	for _, c := range w.containers[:w.inits] {
		if restartPolicy := c.spec.RestartPolicy; restartPolicy != nil && *restartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecar, stop := context.WithCancel(ctx)
			var running sync.WaitGroup
			running.Go(func() { c.run(sidecar, corev1.RestartPolicyAlways) })
			// Sidecars end after the containers that they serve.
			defer running.Wait()
			defer stop()
			continue
		}
		policy := corev1.RestartPolicyOnFailure
		if pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
			policy = corev1.RestartPolicyNever
		}
		if !c.run(ctx, policy) {
			return
		}
	}
	var running sync.WaitGroup
	for _, c := range w.main() {
		running.Go(func() { c.run(ctx, pod.Spec.RestartPolicy) })
	}
	running.Wait()
}

// writeStatus writes the pod's status where it differs from what the API server has.
func (w *worker) writeStatus(ctx context.Context) {
	known := w.pod.Load()
	pods := w.node.client.CoreV1().Pods(known.Namespace)
	pod, err := pods.Get(ctx, known.Name, metav1.GetOptions{})
	if err == nil && pod.UID == known.UID {
		status := w.status(pod)
		if equality.Semantic.DeepEqual(status, pod.Status) {
			return
		}
		pod.Status = status
		_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	}
	switch {
	case err == nil, apierrors.IsNotFound(err), ctx.Err() != nil:
	case apierrors.IsConflict(err):
		w.notify()
	default:
		w.node.say("write status of pod %s/%s: %v", known.Namespace, known.Name, err)
		time.AfterFunc(retryInterval, w.notify)
	}
}
