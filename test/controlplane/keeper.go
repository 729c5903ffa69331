package controlplane

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// keeperScript waits for its standard input to end. It ends with the word done when everything was stopped in order;
// without it the test process has died, by SIGKILL perhaps, and what it started is killed here. It goes round more than
// once because a wrapper may just be writing its process ID.
const keeperScript = `
read -r word
[ "$word" = done ] && exit 0
for round in 1 2 3; do
	for file in "$1"/pids/*; do
		[ -s "$file" ] && kill -s KILL -- "-$(cat "$file")" 2>/dev/null
	done
	sleep 1
done
rm -rf "$1"
`

// keeper owns the working directory and sees to it that neither that nor a process is left over. envtest starts etcd and
// kube-apiserver in process groups of their own and without the kernel's parent-death signal, so they would live on.
type keeper struct {
	dir   string
	shell *exec.Cmd
	stdin io.WriteCloser
}

// newKeeper makes the working directory and starts the shell that watches over it.
func newKeeper() (*keeper, error) {
	dir, err := os.MkdirTemp("", "terdut-controlplane-")
	if err != nil {
		return nil, fmt.Errorf("make working directory: %w", err)
	}
	k := &keeper{dir: dir, shell: exec.Command("/bin/sh", "-c", keeperScript, "keeper", dir)}
	// A session of its own: a Ctrl-C at the terminal must not take the keeper first.
	k.shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err = k.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return k, nil
}

func (k *keeper) start() (err error) {
	for _, name := range []string{"bin", "pids", "logs", "etcd", "apiserver"} {
		if err = os.Mkdir(filepath.Join(k.dir, name), 0o700); err != nil {
			return fmt.Errorf("make working directory: %w", err)
		}
	}
	if k.stdin, err = k.shell.StdinPipe(); err != nil {
		return fmt.Errorf("start keeper: %w", err)
	}
	if err = k.shell.Start(); err != nil {
		return fmt.Errorf("start keeper: %w", err)
	}
	return nil
}

// wrap writes a program that stands for binary: it leaves its process ID where the keeper looks and becomes binary.
func (k *keeper) wrap(name, binary string) (string, error) {
	path := filepath.Join(k.dir, "bin", name)
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s\nexec %s \"$@\"\n", quote(k.pidFile(name)), quote(binary))
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		return "", fmt.Errorf("wrap %s: %w", name, err)
	}
	return path, nil
}

func (k *keeper) pidFile(name string) string { return filepath.Join(k.dir, "pids", name) }

// quote makes one word of a POSIX shell of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// kill ends the process groups that are left, without ceremony.
func (k *keeper) kill() {
	files, err := filepath.Glob(k.pidFile("*"))
	if err != nil {
		return
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil && pid > 1 {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
}

// close removes the working directory and dismisses the shell. The processes must have been stopped.
func (k *keeper) close() error {
	removed := os.RemoveAll(k.dir)
	_, written := io.WriteString(k.stdin, "done\n")
	return errors.Join(removed, written, k.stdin.Close(), k.shell.Wait())
}
