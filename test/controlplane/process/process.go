// Package process starts children that do not outlive the test process.
//
// Every child leads a process group of its own, so that it and all that it forks are stopped by one signal, and a Ctrl-C
// at the terminal reaches the test process alone, which then stops the children in order. On Linux the kernel kills a
// child whose parent dies without stopping it; elsewhere such a child is left over.
package process

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a started child.
type Process struct {
	name string
	pid  int
	done chan struct{}
	// state is written before done is closed and only read after that.
	state *exitState
}

type exitState struct {
	code   int
	signal syscall.Signal
	err    error
}

// Start starts cmd in a process group of its own. The caller fills the command's path, arguments, environment, output and,
// in SysProcAttr, the user; it calls neither Start nor Wait on it. The error names the program.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{name: cmd.Path, done: make(chan struct{}), state: &exitState{}}
	attach(cmd)
	started := make(chan error)
	go func() {
		// The kernel's parent-death signal follows the thread that forked, not the process: this thread has to stay for as
		// long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("start %s: %w", cmd.Path, err)
			return
		}
		p.pid = cmd.Process.Pid
		started <- nil
		p.state.record(cmd.Wait())
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (s *exitState) record(err error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		s.err = err
		return
	}
	s.code = exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		s.signal = status.Signal()
		// A shell and a kubelet report a killed process in this way.
		s.code = 128 + int(s.signal)
	}
	s.err = fmt.Errorf("exit code %d", s.code)
}

// PID is the process ID of the child, which is also the ID of its process group.
func (p *Process) PID() int { return p.pid }

// Done is closed when the child has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode is the child's exit code, or 128 plus the number of the signal that ended it. It blocks until the child has
// ended.
func (p *Process) ExitCode() int {
	<-p.done
	return p.state.code
}

// Signal is the signal that ended the child, 0 if it ended by itself. It blocks until the child has ended.
func (p *Process) Signal() syscall.Signal {
	<-p.done
	return p.state.signal
}

// Stop sends SIGTERM to the process group, waits for at most grace and sends SIGKILL, which also ends the forks that the
// child may have left behind. It returns when the child was reaped, at once if that has happened before.
func (p *Process) Stop(grace time.Duration) {
	select {
	case <-p.done:
		return
	default:
	}
	// An error here means that the group is gone, which is what is wanted.
	_ = syscall.Kill(-p.pid, syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	<-p.done
}
