package namespace

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
)

//go:embed setup.sh
var setup string

// Namespace is a set of namespaces with their first process.
type Namespace struct {
	init *process.Process
	// network is the network namespace; it is held open for as long as sockets may be made in it.
	network *os.File
}

// New makes the namespaces, with the program pause as first process, and the root directory in them. Nothing is left after
// an error, which is one line.
func New(ctx context.Context, pause string, layout Layout) (_ *Namespace, err error) {
	cmd := exec.Command(pause)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	n := &Namespace{}
	if n.init, err = process.Start(cmd); err != nil {
		return nil, fmt.Errorf("make namespaces (mount, process, network, IPC and host name): %w", err)
	}
	defer func() {
		if err != nil {
			n.Kill()
		}
	}()
	if n.network, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", n.init.PID())); err != nil {
		return nil, fmt.Errorf("open network namespace: %w", err)
	}
	return n, n.setUp(ctx, layout)
}

// setUp makes the root directory and the network.
func (n *Namespace) setUp(ctx context.Context, layout Layout) error {
	bin := filepath.Join(layout.Dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("make the node's directory: %w", err)
	}
	args := []string{"-eu", "-c", setup, "setup", layout.Dir, layout.Address, layout.Services}
	for name, path := range layout.Programs {
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o755); err != nil {
			return fmt.Errorf("make the node's directory: %w", err)
		}
		args = append(args, name, path)
	}
	cmd := n.Command(ctx, "sh", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if line := lastLine(stderr.String()); line != "" {
			return fmt.Errorf("set up the node's namespaces: %s", line)
		}
		return fmt.Errorf("set up the node's namespaces: %w", err)
	}
	return nil
}

// Command is a command that runs in the namespaces. name is a path under their root directory, or a program in /node/bin
// or among the machine's.
func (n *Namespace) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	enter := []string{"--target=" + strconv.Itoa(n.init.PID()), "--mount", "--pid", "--net", "--ipc", "--uts", "--", name}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	// Nothing of the machine's environment: no proxy, no credentials, no locale.
	cmd.Env = []string{"PATH=/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	return cmd
}

// inside calls do on a thread that is in the network namespace. A socket stays in the namespace in which it was made, so
// it may be used from everywhere afterwards.
func (n *Namespace) inside(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- n.visit(do) }()
	return <-done
}

// visit takes its thread into the network namespace and back. Where there is no way back the thread stays locked, so that it
// ends with the goroutine and nobody else gets it; that is no way for all visits, because the process's first thread never
// ends, and would hold the namespace.
func (n *Namespace) visit(do func() error) error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("find the way out of a network namespace: %w", err)
	}
	defer func() { _ = home.Close() }()
	if err = unix.Setns(int(n.network.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter network namespace: %w", err)
	}
	err = do()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		return errors.Join(err, fmt.Errorf("leave network namespace: %w", back))
	}
	runtime.UnlockOSThread()
	return err
}

// PID is the process ID of the first process, as the caller's namespace knows it.
func (n *Namespace) PID() int { return n.init.PID() }

// Kill ends all processes in the namespaces, and thereby the namespaces. It may be called on nil and more than once.
func (n *Namespace) Kill() {
	if n == nil {
		return
	}
	n.init.Stop(time.Duration(0))
	if n.network != nil {
		_ = n.network.Close()
		n.network = nil
	}
}
