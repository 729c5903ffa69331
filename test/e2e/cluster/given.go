package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// given is a cluster of somebody else.
type given struct{ kubeconfig, kubectl string }

func newGiven(path string) (Cluster, error) {
	absolute, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(absolute)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", KubeconfigVariable, err)
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, fmt.Errorf("a cluster of %s needs a kubectl in PATH: %w", KubeconfigVariable, err)
	}
	return given{absolute, kubectl}, nil
}

func (given) Name() string                           { return "the cluster of " + KubeconfigVariable }
func (g given) Kubeconfig() string                   { return g.kubeconfig }
func (g given) Kubectl() string                      { return g.kubectl }
func (given) RestartAPIServer(context.Context) error { return ErrNotPossible }
func (given) RestartEtcd(context.Context) error      { return ErrNotPossible }
func (given) Stop(context.Context) error             { return nil }

func (given) KillContainer(context.Context, string) error { return ErrNotPossible }

func (g given) LoadImage(ctx context.Context, archive string) error {
	command := os.Getenv(LoadVariable)
	if command == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = append(os.Environ(), "IMAGE="+archive, "KUBECONFIG="+g.kubeconfig)
	if _, err := run(cmd); err != nil {
		return fmt.Errorf("load image %s with %s: %w", archive, LoadVariable, err)
	}
	return nil
}
