package postgres

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// undertaker waits for its standard input to end, which happens at the latest when the test process dies, and removes
// the directory. The server may still be writing then; a second round takes what was added during the first.
const undertaker = `
read -r word
for round in 1 2 3 4 5; do
	rm -rf "$1" 2>/dev/null && exit 0
	sleep 1
done
exit 1
`

// hba admits nobody without TLS and a password.
const hba = `
# type    database  user  address  method
hostssl   all       all   all      scram-sha-256
`

// directory holds everything of one server. It belongs to whoever runs that.
type directory struct {
	path  string
	owner *syscall.Credential // nil is the caller
	shell *exec.Cmd
	stdin io.WriteCloser
}

func newDirectory(owner *syscall.Credential) (*directory, error) {
	path, err := os.MkdirTemp("", "terdut-postgres-")
	if err != nil {
		return nil, fmt.Errorf("make the database's directory: %w", err)
	}
	d := &directory{path: path, owner: owner, shell: exec.Command("/bin/sh", "-c", undertaker, "undertaker", path)}
	// A session of its own: a Ctrl-C at the terminal must not take it first.
	d.shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if d.stdin, err = d.shell.StdinPipe(); err == nil {
		err = d.shell.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch over the database's directory: %w", err), os.RemoveAll(path))
	}
	if err = d.give(path); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// remove removes the directory. The server must have been stopped.
func (d *directory) remove() error {
	if err := errors.Join(d.stdin.Close(), d.shell.Wait()); err != nil {
		return fmt.Errorf("remove the database's directory: %w", err)
	}
	return nil
}

func (d *directory) file(name string) string { return filepath.Join(d.path, name) }

// fill writes what the server reads before it starts, and the superuser's password for initdb.
func (d *directory) fill(c certificates, password string) error {
	for name, content := range map[string][]byte{
		"ca.crt": c.ca, "server.crt": c.server, "server.key": c.key,
		"hba.conf": []byte(hba), "password": []byte(password + "\n"),
	} {
		// The server refuses a key that others can read.
		if err := os.WriteFile(d.file(name), content, 0o600); err != nil {
			return fmt.Errorf("write the database's %s: %w", name, err)
		}
		if err := d.give(d.file(name)); err != nil {
			return err
		}
	}
	return nil
}

func (d *directory) give(path string) error {
	if d.owner == nil {
		return nil
	}
	if err := os.Chown(path, int(d.owner.Uid), int(d.owner.Gid)); err != nil {
		return fmt.Errorf("give the database's directory to its user: %w", err)
	}
	return nil
}

// command runs a program as the owner, without the caller's environment: PGPORT and others would change the server.
func (d *directory) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = d.path // the owner may not be allowed into the caller's
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	if d.owner != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.owner}
	}
	return cmd
}

// newPassword returns a password that nobody can guess.
func newPassword() string { return rand.Text() }
