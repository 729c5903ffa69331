package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

// What must be free before anything is written, in bytes. A full disk in the middle of a start shows as a riddle: the
// kubelet evicts pods, etcd stops.
const (
	gibibyte = 1 << 30
	// nodeSpace is for images, their unpacked files, data and logs.
	nodeSpace = 2 * gibibyte
	// buildSpace is for sources, Go's build cache and the programs.
	buildSpace = 6 * gibibyte
)

// packages are the Debian packages of the machine's programs that a node uses.
var packages = map[string]string{
	"ip": "iproute2", "nft": "nftables", "nsenter": "util-linux", "mount": "mount", "pivot_root": "util-linux",
}

// machine is what a node asks of the machine before it touches anything.
type machine struct {
	system string
	user   int
	find   func(program string) (string, error)
}

func thisMachine() machine {
	return machine{system: runtime.GOOS, user: os.Geteuid(), find: exec.LookPath}
}

// check tells in one line why no node can run here. What the kernel lacks shows when the namespaces are set up.
func (m machine) check() error {
	if m.system != "linux" {
		return fmt.Errorf("start node: it takes Linux, and this is %s", m.system)
	}
	if m.user != 0 {
		return errors.New("start node: it takes root (namespaces, mounts, cgroups): run it with sudo -E, or in a virtual machine")
	}
	for _, program := range []string{"ip", "nft", "nsenter", "mount", "pivot_root"} {
		if _, err := m.find(program); err != nil {
			return fmt.Errorf("start node: no program %s in PATH: install the package %s", program, packages[program])
		}
	}
	return nil
}

// checkSpace tells whether the file system that dir is or will be on has so many bytes free.
func checkSpace(dir string, needed uint64, what string) error {
	for {
		var stat unix.Statfs_t
		err := unix.Statfs(dir, &stat)
		if errors.Is(err, unix.ENOENT) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return fmt.Errorf("find out the free space of %s: %w", dir, err)
		}
		if free := stat.Bavail * uint64(stat.Bsize); free < needed {
			return fmt.Errorf("%s needs %.1f GiB in %s, and %.1f GiB are free: make room, or choose another directory",
				what, float64(needed)/gibibyte, dir, float64(free)/gibibyte)
		}
		return nil
	}
}

// checkBuildSpace checks the space for a build if there is anything to build.
func checkBuildSpace(cache, key string, programs []source.Program) error {
	names := make([]string, 0, len(programs))
	for _, program := range programs {
		names = append(names, program.Name)
	}
	if len(source.Search(filepath.Join(cache, key), names, map[string]string{})) == 0 {
		return nil
	}
	return checkSpace(cache, buildSpace, "building the node's programs")
}
