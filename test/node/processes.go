package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/apimachinery/pkg/util/wait"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

// part is one program that runs for as long as the node does.
type part struct {
	name string
	args []string
	// works tells whether the program does its work. An error means "not yet"; it is shown if that stays so.
	works func(context.Context) error
}

// launch starts a part and waits until it works.
func (n *Node) launch(ctx context.Context, p part) error {
	done := source.Progress(n.log, "starting "+p.name)
	err := n.spawn(p)
	if err == nil {
		err = n.await(ctx, p.name, p.works)
	}
	done(err)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	return nil
}

func (n *Node) spawn(p part) error {
	log, err := os.OpenFile(n.LogFile(p.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	n.files = append(n.files, log)
	// Not the caller's context: that bounds the start, and the part lives on.
	cmd := n.space.Command(context.Background(), p.name, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	running, err := process.Start(cmd)
	if err != nil {
		return err
	}
	n.mutex.Lock()
	n.processes[p.name] = running
	n.mutex.Unlock()
	return nil
}

var errEnded = errors.New("it ended")

// await polls works until it holds, for as long as the program lives.
func (n *Node) await(ctx context.Context, name string, works func(context.Context) error) error {
	n.mutex.Lock()
	running := n.processes[name]
	n.mutex.Unlock()
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, startTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-running.Done():
			return false, errEnded
		default:
		}
		last = works(ctx)
		return last == nil, nil
	})
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if last != nil && !errors.Is(err, errEnded) {
		err = fmt.Errorf("%w: %w", err, last)
	}
	if content, readErr := os.ReadFile(n.LogFile(name)); readErr == nil && len(content) > 0 {
		return fmt.Errorf("%w; last line of its log: %s", err, source.LastLine(string(content), nil))
	}
	return err
}

// end kills a part and waits until all of its processes are gone, so that its ports and files are free.
func (n *Node) end(ctx context.Context, name string) error {
	n.mutex.Lock()
	running := n.processes[name]
	n.mutex.Unlock()
	running.Stop(0)
	err := wait.PollUntilContextTimeout(ctx, poll, stopTimeout, true, func(context.Context) (bool, error) {
		return errors.Is(syscall.Kill(-running.PID(), 0), syscall.ESRCH), nil
	})
	if err != nil {
		return fmt.Errorf("end %s: %w", name, err)
	}
	return nil
}

// writeConfig puts the configuration files where the node sees them.
func (n *Node) writeConfig() error {
	if err := os.CopyFS(n.dir, config); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(n.dir, "log"), 0o755); err != nil {
		return fmt.Errorf("make directory for logs: %w", err)
	}
	return nil
}
