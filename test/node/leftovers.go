package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

// A node's directory has a file that its owner holds locked: the kernel lets go of the lock when the owner dies, so a
// directory without a holder is what a killed run left. The state file says which processes that run had.
const (
	lockName  = "lock"
	stateName = "state.json"
)

// state is what a later run has to know in order to end what an earlier one left.
type state struct {
	// Owner is the process that started the node; Init is the first process in the node's namespaces.
	Owner, Init identity
}

// identity names a process. A process ID alone may have been given to somebody else since.
type identity struct {
	PID int
	// Start is when the process started, in clock ticks since the machine did.
	Start string
}

// identify finds out who a process is.
func identify(pid int) (identity, error) {
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	// The name, in parentheses, may hold spaces and parentheses of its own. The start is field 22, the 20th after it.
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 20 {
		return identity{}, fmt.Errorf("identify process %d: unexpected contents of its stat file", pid)
	}
	return identity{PID: pid, Start: fields[19]}, nil
}

// lives tells whether the process is the one that was identified, and has not ended.
func (i identity) lives() bool {
	if i.PID <= 1 {
		return false
	}
	now, err := identify(i.PID)
	return err == nil && now == i
}

// occupy makes dir, takes its lock and clears what a killed run left there. The returned function gives dir up.
func occupy(ctx context.Context, dir string, log io.Writer) (func(), error) {
	if err := checkSpace(dir, nodeSpace, "the node"); err != nil {
		return nil, err
	}
	if err := checkOwn(dir); err != nil {
		return nil, err
	}
	lock, err := lockDirectory(dir)
	if errors.Is(err, errHeld) {
		return nil, fmt.Errorf("start node: %s belongs to a node that runs%s: stop that, or choose another directory", dir, owner(dir))
	}
	if err != nil {
		return nil, err
	}
	release := func() { _ = lock.Close() }
	if _, err = os.Stat(filepath.Join(dir, stateName)); err == nil {
		say(log, "clearing what a killed run left in %s", dir)
	}
	err = errors.Join(endLeftovers(ctx, dir), removeCgroups(ctx, dir), empty(dir))
	if err != nil {
		release()
		return nil, fmt.Errorf("clear what a killed run left in %s: %w", dir, err)
	}
	return release, nil
}

// checkOwn refuses a directory with somebody else's files: all that is in a node's directory gets removed.
func checkOwn(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err == nil {
		_, err = os.Lstat(filepath.Join(dir, lockName))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has files in it and is no node's directory: choose another one", dir)
	}
	if err != nil {
		return fmt.Errorf("look into the node's directory: %w", err)
	}
	return nil
}

var errHeld = errors.New("locked by another process")

// lockDirectory makes dir and takes its lock, without waiting.
func lockDirectory(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	for {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make the node's directory: %w", err)
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed by its owner between the two calls
		}
		if err != nil {
			return nil, fmt.Errorf("open lock of the node's directory: %w", err)
		}
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = file.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, errHeld
			}
			return nil, fmt.Errorf("lock the node's directory %s: %w", dir, err)
		}
		locked, err := file.Stat()
		if err == nil {
			var now os.FileInfo
			if now, err = os.Stat(path); err == nil && os.SameFile(locked, now) {
				return file, nil
			}
		}
		// The former owner removed the file after it was opened here: what is locked is not what others see.
		_ = file.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("lock the node's directory %s: %w", dir, err)
		}
	}
}

// owner names the process that holds dir, if it is known.
func owner(dir string) string {
	left, err := readState(dir)
	if err != nil || !left.Owner.lives() {
		return ""
	}
	return fmt.Sprintf(" (process %d)", left.Owner.PID)
}

// record writes the state file.
func record(dir string, initPID int) error {
	var now state
	var err error
	if now.Owner, err = identify(os.Getpid()); err != nil {
		return err
	}
	if now.Init, err = identify(initPID); err != nil {
		return err
	}
	content, err := json.Marshal(now)
	if err != nil {
		return fmt.Errorf("write state of the node: %w", err)
	}
	if err = os.WriteFile(filepath.Join(dir, stateName), content, 0o600); err != nil {
		return fmt.Errorf("write state of the node: %w", err)
	}
	return nil
}

// readState reads the state file; without one, or with half of one, the state is empty.
func readState(dir string) (state, error) {
	var left state
	content, err := os.ReadFile(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return left, nil
	}
	if err != nil {
		return left, fmt.Errorf("read state of the node: %w", err)
	}
	// Half of one: whoever wrote it had not got far.
	if !json.Valid(content) {
		return left, nil
	}
	if err = json.Unmarshal(content, &left); err != nil {
		return left, fmt.Errorf("read state of the node: %w", err)
	}
	return left, nil
}

// endLeftovers kills the first process of the namespaces that a killed run left, and waits until it is gone. The kernel has
// normally done that, and does the rest.
func endLeftovers(ctx context.Context, dir string) error {
	left, err := readState(dir)
	if err != nil || !left.Init.lives() {
		return err
	}
	_ = syscall.Kill(left.Init.PID, syscall.SIGKILL)
	err = wait.PollUntilContextTimeout(ctx, poll, startTimeout, true, func(context.Context) (bool, error) {
		return !left.Init.lives(), nil
	})
	if err != nil {
		return fmt.Errorf("wait for process %d to end: %w", left.Init.PID, err)
	}
	return nil
}

// empty removes everything in dir but the lock, the state file last.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("remove the node's directory: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == lockName || entry.Name() == stateName {
			continue
		}
		if err = os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove the node's directory: %w", err)
		}
	}
	if err = os.Remove(filepath.Join(dir, stateName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the node's directory: %w", err)
	}
	return nil
}

// remove removes what a node leaves when its processes have ended. The caller holds the lock.
func remove(ctx context.Context, dir string) error {
	if err := errors.Join(removeCgroups(ctx, dir), empty(dir)); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the node's directory: %w", err)
	}
	return nil
}

// Clear ends the node of these options, whoever started it, and removes what is left of it. Without a node it does
// nothing.
func Clear(ctx context.Context, options Options) error {
	options = options.withDefaults()
	if _, err := os.Stat(options.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := checkOwn(options.Dir); err != nil {
		return err
	}
	var lock *os.File
	asked := false
	err := wait.PollUntilContextTimeout(ctx, poll, stopTimeout, true, func(context.Context) (bool, error) {
		var err error
		if lock, err = lockDirectory(options.Dir); !errors.Is(err, errHeld) {
			return err == nil, err
		}
		if left, stateErr := readState(options.Dir); stateErr == nil && left.Owner.lives() && !asked {
			say(options.Log, "ending the node of process %d", left.Owner.PID)
			_ = syscall.Kill(left.Owner.PID, syscall.SIGTERM)
			asked = true
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the node in %s%s to end: %w", options.Dir, owner(options.Dir), err)
	}
	defer func() { _ = lock.Close() }()
	return errors.Join(endLeftovers(ctx, options.Dir), remove(ctx, options.Dir))
}

// The patience of this package. A machine that compiles at the same time is slow.
const (
	poll         = 100 * time.Millisecond
	startTimeout = 3 * time.Minute
	stopTimeout  = time.Minute
)
