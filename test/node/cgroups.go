package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

// cgroupRoots are the directories at which cgroup hierarchies are mounted on this machine.
func cgroupRoots() ([]string, error) {
	content, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	var roots []string
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) > 2 && (fields[2] == "cgroup" || fields[2] == "cgroup2") {
			roots = append(roots, fields[1])
		}
	}
	return roots, nil
}

// removeCgroups removes the cgroup of that name from all hierarchies, with those in it. The processes in them have been
// killed; a cgroup can only be removed when the kernel is done with the last of them.
func removeCgroups(ctx context.Context, name string) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		top := filepath.Join(root, name)
		err = wait.PollUntilContextTimeout(ctx, poll, stopTimeout, true, func(context.Context) (bool, error) {
			removeErr := removeCgroup(top)
			return removeErr == nil, ignoreBusy(removeErr)
		})
		if err != nil {
			return fmt.Errorf("remove cgroup %s: %w", top, err)
		}
	}
	return nil
}

// removeCgroup removes one directory of cgroups, the innermost first. The files in it are the kernel's and go with it.
func removeCgroup(top string) error {
	var dirs []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	slices.Reverse(dirs)
	for _, dir := range dirs {
		if removeErr := os.Remove(dir); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			return removeErr
		}
	}
	return err
}

func ignoreBusy(err error) error {
	if errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}
