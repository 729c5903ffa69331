package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// debian is where Debian keeps the programs of each version; it puts neither initdb nor postgres into PATH. Tests of this
// package hide it.
var debian = "/usr/lib/postgresql"

// serviceUser is who runs the server when the caller is root. Packages create it.
const serviceUser = "postgres"

// programs are the paths of what is run, and the identity to run it with; nil is the caller's own.
type programs struct {
	initdb, postgres string
	credential       *syscall.Credential
}

// Available returns nil when [Start] finds what it needs on this machine, else one line that says what to do.
func Available() error {
	_, err := find()
	return err
}

// Programs are the absolute paths of initdb and postgres, or the error of [Available] where there are none.
func Programs() (initdb, postgres string, err error) {
	found, ok := locate()
	if !ok {
		return "", "", errMissing
	}
	initdb, err = filepath.Abs(found.initdb)
	if err != nil {
		return "", "", fmt.Errorf("find PostgreSQL: %w", err)
	}
	postgres, err = filepath.Abs(found.postgres)
	if err != nil {
		return "", "", fmt.Errorf("find PostgreSQL: %w", err)
	}
	return initdb, postgres, nil
}

// T is the part of testing.TB that Need uses; GinkgoT() has it too.
type T interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

// Need skips a test that cannot run because there is no PostgreSQL. Where the environment variable CI is set it fails the
// test: there the package has to be installed.
func Need(t T) {
	t.Helper()
	err := Available()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

var errMissing = errors.New("PostgreSQL is not installed: apt-get install postgresql, or put initdb and postgres into PATH")

func find() (programs, error) {
	found, ok := locate()
	if !ok {
		return found, errMissing
	}
	if os.Geteuid() != 0 {
		return found, nil
	}
	credential, err := identity()
	if err != nil {
		return found, fmt.Errorf("PostgreSQL does not run as root: create the user %s or run as another user: %w",
			serviceUser, err)
	}
	found.credential = credential
	return found, nil
}

// locate prefers the newest version of the Debian packages to PATH.
func locate() (programs, bool) {
	entries, err := os.ReadDir(debian)
	if err != nil {
		entries = nil // not Debian, or not installed
	}
	versions := make([]int, 0, len(entries))
	for _, entry := range entries {
		if version, parseErr := strconv.Atoi(entry.Name()); parseErr == nil {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	for _, version := range slices.Backward(versions) {
		dir := filepath.Join(debian, strconv.Itoa(version), "bin")
		found, ok := both(filepath.Join(dir, "initdb"), filepath.Join(dir, "postgres"))
		if ok {
			return found, true
		}
	}
	return both("initdb", "postgres")
}

// both looks up the two programs. A version of which only the client is installed has neither.
func both(initdb, postgres string) (programs, bool) {
	var found programs
	var err error
	if found.initdb, err = exec.LookPath(initdb); err != nil {
		return found, false
	}
	found.postgres, err = exec.LookPath(postgres)
	return found, err == nil
}

func identity() (*syscall.Credential, error) {
	account, err := user.Lookup(serviceUser)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read its user ID: %w", err)
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read its group ID: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
