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

// containerdCgroup is the cgroup below which containerd puts those of all pods when the kubelet names no other. One of the
// machine may use it too.
const containerdCgroup = "k8s.io"

// containers are the IDs of the containers, and of the pods' sandboxes, that the containerd of the node in dir knows. They
// stand on the disk, so a killed run has them too.
func containers(dir string) ([]string, error) {
	var ids []string
	for _, kind := range []string{"containers", "sandboxes"} {
		entries, err := os.ReadDir(filepath.Join(dir, "containerd", "io.containerd.grpc.v1.cri", kind))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list containers: %w", err)
		}
		for _, entry := range entries {
			ids = append(ids, entry.Name())
		}
	}
	return ids, nil
}

// removeCgroups removes from all hierarchies the cgroups of the pods of the node in dir. The processes in them have been
// killed; a cgroup can only be removed when the kernel is done with the last of them.
func removeCgroups(ctx context.Context, dir string) error {
	ids, err := containers(dir)
	if err != nil || len(ids) == 0 {
		return err
	}
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		parent := filepath.Join(root, containerdCgroup)
		for _, id := range ids {
			err = wait.PollUntilContextTimeout(ctx, poll, stopTimeout, true, func(context.Context) (bool, error) {
				removeErr := removeCgroup(filepath.Join(parent, id))
				return removeErr == nil, ignoreBusy(removeErr)
			})
			if err != nil {
				return fmt.Errorf("remove cgroup %s: %w", filepath.Join(parent, id), err)
			}
		}
		// Fails when pods of somebody else are in it; then it is to stay.
		_ = os.Remove(parent)
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
