package localnode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
)

// firstBackOff is the wait after the first crash; each further one doubles it.
const firstBackOff = 250 * time.Millisecond

// view is what the status says about a container.
type view struct {
	name, image, id string
	// address is where the process listens, empty while none runs.
	address     string
	state, last corev1.ContainerState
	restarts    int32
	// launched: a process was started at least once. finished: none will be started again.
	ready, started, launched, finished bool
}

// failed tells whether the last process ended badly.
func (v *view) failed() bool { return v.state.Terminated != nil && v.state.Terminated.ExitCode != 0 }

// container runs one container of a pod, again and again where the restart policy says so.
type container struct {
	worker *worker
	spec   *corev1.Container
	init   bool
	// woken holds at most one hint that a Secret or ConfigMap has changed.
	woken chan struct{}

	mu   sync.Mutex
	view view
}

func newContainer(w *worker, spec *corev1.Container, init bool) *container {
	return &container{
		worker: w, spec: spec, init: init,
		woken: make(chan struct{}, 1),
		view:  view{name: spec.Name, image: spec.Image},
	}
}

func (c *container) snapshot() view {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view
}

func (c *container) change(edit func(*view)) {
	c.mu.Lock()
	edit(&c.view)
	c.mu.Unlock()
	c.worker.notify()
}

func (c *container) wait(reason, message string) {
	c.change(func(v *view) {
		v.ready, v.started, v.address = false, false, ""
		v.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
}

// run returns when the container has ended for good, and whether its last process succeeded.
func (c *container) run(ctx context.Context, policy corev1.RestartPolicy) bool {
	delay := firstBackOff
	for {
		child, begun := c.launch(ctx)
		if child == nil {
			return false
		}
		failed := c.attend(ctx, child)
		again := ctx.Err() == nil && (policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && failed)
		if !again {
			c.change(func(v *view) { v.finished = true })
			return !failed
		}
		if time.Since(begun) > 2*c.worker.node.options.MaxBackOff {
			delay = firstBackOff
		}
		c.backOff(ctx, delay)
		delay = min(2*delay, c.worker.node.options.MaxBackOff)
	}
}

// backOff waits before the next start.
func (c *container) backOff(ctx context.Context, delay time.Duration) {
	pod := c.worker.pod.Load()
	c.change(func(v *view) {
		v.last = v.state
		v.restarts++
		v.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason:  "CrashLoopBackOff",
			Message: fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)", delay, c.spec.Name, pod.Name, pod.Namespace, pod.UID),
		}}
	})
	select {
	case <-ctx.Done():
	case <-time.After(delay):
	}
}

// launch starts the process as soon as image and configuration allow it. nil means that ctx has ended before.
func (c *container) launch(ctx context.Context) (*process.Process, time.Time) {
	for ctx.Err() == nil {
		child, address, err := c.start(ctx)
		if err == nil {
			begun := time.Now()
			c.change(func(v *view) {
				v.launched, v.address, v.id = true, address, "localnode://"+strconv.Itoa(child.PID())
				v.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(begun).Rfc3339Copy()}}
			})
			return child, begun
		}
		var obstacle *obstacleError
		if !errors.As(err, &obstacle) {
			obstacle = &obstacleError{reason: "RunContainerError", err: err}
		}
		c.wait(obstacle.reason, obstacle.Error())
		select {
		case <-ctx.Done():
		case <-c.woken:
		case <-time.After(c.worker.node.options.MaxBackOff):
		}
	}
	return nil, time.Time{}
}

// obstacleError is why a container cannot start yet; reason is the one that a kubelet writes.
type obstacleError struct {
	reason string
	err    error
}

func (e *obstacleError) Error() string { return e.err.Error() }
func (e *obstacleError) Unwrap() error { return e.err }

// start resolves the container and starts its process. The address is where the process was told to listen.
func (c *container) start(ctx context.Context) (*process.Process, string, error) {
	node, pod := c.worker.node, c.worker.pod.Load().DeepCopy()
	pod.Status.PodIP = c.worker.address
	if err := checkProbes(c.spec); err != nil {
		return nil, "", &obstacleError{"CreateContainerConfigError", err}
	}
	env, err := resolveEnv(ctx, node.values, pod, c.spec)
	if err != nil {
		return nil, "", &obstacleError{"CreateContainerConfigError", err}
	}
	places, err := mount(ctx, node.values, pod, c.spec, filepath.Join(node.dir, string(pod.UID), "volumes", c.spec.Name))
	if err != nil {
		return nil, "", &obstacleError{"ContainerCreating", err}
	}
	env = relocate(env, places)
	line, known := commandLine(node.options.Images, c.spec, env)
	if !known {
		return nil, "", c.unknownImage()
	}
	address, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	program, err := exec.LookPath(line[0])
	if err != nil {
		return nil, "", fmt.Errorf("find the program of image %s: %w", c.spec.Image, err)
	}
	cmd := &exec.Cmd{Path: program, Args: line, Env: node.environ(env, c.init, address)}
	cmd.Dir = filepath.Join(node.dir, string(pod.UID), c.spec.Name)
	if err = os.MkdirAll(cmd.Dir, 0o755); err != nil {
		return nil, "", fmt.Errorf("make working directory: %w", err)
	}
	if node.options.LogDir != "" {
		name := fmt.Sprintf("%s_%s_%s.log", pod.Namespace, pod.Name, c.spec.Name)
		log, openErr := os.OpenFile(filepath.Join(node.options.LogDir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if openErr != nil {
			return nil, "", fmt.Errorf("open log: %w", openErr)
		}
		// The child has its own copy.
		defer func() { _ = log.Close() }()
		cmd.Stdout, cmd.Stderr = log, log
	}
	child, err := process.Start(cmd)
	if err != nil {
		return nil, "", fmt.Errorf("run image %s: %w", c.spec.Image, err)
	}
	node.say("pod %s/%s: container %s runs as process %d at %s", pod.Namespace, pod.Name, c.spec.Name, child.PID(), address)
	return child, address, nil
}

// unknownImage is first ErrImagePull and then ImagePullBackOff, as a kubelet alternates between the two.
func (c *container) unknownImage() error {
	reason := "ErrImagePull"
	if waiting := c.snapshot().state.Waiting; waiting != nil && waiting.Reason == reason {
		reason = "ImagePullBackOff"
	}
	return &obstacleError{reason, fmt.Errorf("no local command stands for image %q: add its repository to localnode.Options.Images", c.spec.Image)}
}

// attend probes the process until it ends and records how. It ends the process when ctx ends or a probe condemns it.
func (c *container) attend(ctx context.Context, child *process.Process) (failed bool) {
	probing, stop := context.WithCancel(ctx)
	condemned := make(chan string, 1)
	var probes sync.WaitGroup
	probes.Go(func() { c.probe(probing, condemned) })
	why := ""
	select {
	case <-child.Done():
	case why = <-condemned:
		child.Stop(c.livenessGrace())
	case <-ctx.Done():
		child.Stop(c.worker.grace())
	}
	stop()
	probes.Wait()

	code := child.ExitCode()
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	pod := c.worker.pod.Load()
	c.worker.node.say("pod %s/%s: container %s ended with code %d", pod.Namespace, pod.Name, c.spec.Name, code)
	c.change(func(v *view) {
		ended := &corev1.ContainerStateTerminated{
			ExitCode: int32(code), Signal: int32(child.Signal()), Reason: reason, Message: why,
			FinishedAt: metav1.Now().Rfc3339Copy(), ContainerID: v.id,
		}
		if v.state.Running != nil {
			ended.StartedAt = v.state.Running.StartedAt
		}
		v.ready, v.started, v.address = false, false, ""
		v.state = corev1.ContainerState{Terminated: ended}
	})
	return code != 0
}

// livenessGrace is how long a condemned process may take to end.
func (c *container) livenessGrace() time.Duration {
	if seconds := c.worker.pod.Load().Spec.TerminationGracePeriodSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return shortGrace
}
