package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// kindName names the cluster, so that one that a killed run has left is found and replaced.
const kindName = "terdut-e2e"

// kind is a cluster in a container of Docker.
type kind struct{ dir, kubectl string }

func newKind(ctx context.Context, log io.Writer) (_ Cluster, err error) {
	dir, err := os.MkdirTemp("", "terdut-kind-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for kind: %w", err)
	}
	k := kind{dir: dir}
	if k.kubectl, err = exec.LookPath("kubectl"); err != nil {
		return nil, fmt.Errorf("start kind: %w", err)
	}
	if _, err = run(exec.CommandContext(ctx, "kind", "delete", "cluster", "--name", kindName)); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "kind", "create", "cluster", "--name", kindName, "--kubeconfig", k.Kubeconfig(), "--wait", "5m")
	cmd.Stdout, cmd.Stderr = log, log
	if err = cmd.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("start kind: %w", err), k.Stop(context.WithoutCancel(ctx)))
	}
	return k, nil
}

func (kind) Name() string         { return "kind" }
func (k kind) Kubeconfig() string { return filepath.Join(k.dir, "kubeconfig") }
func (k kind) Kubectl() string    { return k.kubectl }

func (k kind) LoadImage(ctx context.Context, archive string) error {
	_, err := run(exec.CommandContext(ctx, "kind", "load", "image-archive", archive, "--name", kindName))
	return err
}

func (k kind) RestartAPIServer(ctx context.Context) error { return k.restart(ctx, "kube-apiserver") }
func (k kind) RestartEtcd(ctx context.Context) error      { return k.restart(ctx, "etcd") }

// restart stops a container of a static pod; the kubelet starts it again.
func (k kind) restart(ctx context.Context, name string) error {
	ids, err := k.inside(ctx, "crictl", "ps", "--quiet", "--name", "^"+name+"$")
	if err != nil {
		return err
	}
	if _, err = k.inside(ctx, append([]string{"crictl", "stop"}, strings.Fields(ids)...)...); err != nil {
		return err
	}
	// kubectl wait would give up at the first refused connection.
	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		_, failed := run(exec.CommandContext(ctx, k.kubectl, "--kubeconfig", k.Kubeconfig(), "get", "--raw", "/readyz"))
		return failed == nil, nil
	})
}

// inside runs a command in the node's container.
func (kind) inside(ctx context.Context, args ...string) (string, error) {
	return run(exec.CommandContext(ctx, "docker", append([]string{"exec", kindName + "-control-plane"}, args...)...))
}

func (k kind) KillContainer(ctx context.Context, id string) error {
	_, err := k.inside(ctx, "ctr", "--namespace=k8s.io", "tasks", "kill", "--signal=SIGKILL", id)
	return err
}

func (k kind) Stop(ctx context.Context) error {
	_, err := run(exec.CommandContext(ctx, "kind", "delete", "cluster", "--name", kindName))
	return errors.Join(err, os.RemoveAll(k.dir))
}
