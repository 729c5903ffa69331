//go:build !linux

package namespace

import (
	"context"
	"errors"
	"os/exec"
)

var errSystem = errors.New("namespaces are Linux's: start a node there")

// Namespace exists on Linux only.
type Namespace struct{}

// New reports that this is not Linux.
func New(context.Context, string, Layout) (*Namespace, error) { return nil, errSystem }

// Command is a command that fails.
func (n *Namespace) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Err = errSystem
	return cmd
}

func (n *Namespace) inside(func() error) error { return errSystem }

// PID is 0.
func (n *Namespace) PID() int { return 0 }

// Kill does nothing.
func (n *Namespace) Kill() {}
