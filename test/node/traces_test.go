package node_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// traces are what a node could leave on the machine.
type traces struct {
	mounts, links, sysctls []string
}

func lookAround() traces {
	GinkgoHelper()
	var found traces
	content, err := os.ReadFile("/proc/self/mounts")
	Expect(err).NotTo(HaveOccurred())
	found.mounts = strings.Split(string(content), "\n")
	links, err := net.Interfaces()
	Expect(err).NotTo(HaveOccurred())
	for _, link := range links {
		found.links = append(found.links, link.Name)
	}
	for _, name := range []string{"kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "vm/panic_on_oom", "net/ipv4/ip_forward"} {
		value, readErr := os.ReadFile(filepath.Join("/proc/sys", name))
		Expect(readErr).NotTo(HaveOccurred())
		found.sysctls = append(found.sysctls, name+" "+strings.TrimSpace(string(value)))
	}
	return found
}

// space are the namespaces of one node, and the cgroups that its pods had.
type space struct {
	names, cgroups []string
}

// spaceOf looks at the node in dir.
func spaceOf(dir string) space {
	GinkgoHelper()
	own := namespacesOf("/proc/self")
	made := space{names: namespacesOf(initOf(dir))}
	Expect(made.names).NotTo(ContainElement(BeElementOf(own)), "it shares none with this process")
	// Pods have namespaces of their own within those of the node: their processes are found as children.
	for known := 0; known < len(made.names); {
		known = len(made.names)
		for _, process := range append(made.remains(), childrenOf(made.remains())...) {
			for _, name := range namespacesOf(process) {
				if !slices.Contains(made.names, name) && !slices.Contains(own, name) {
					made.names = append(made.names, name)
				}
			}
		}
	}
	for _, process := range made.remains() {
		made.cgroups = append(made.cgroups, cgroupsOf(process)...)
	}
	Expect(made.cgroups).NotTo(BeEmpty(), "the pods of the node have cgroups")
	return made
}

// namespacesOf are the namespaces of a process that a node has of its own.
func namespacesOf(process string) []string {
	var names []string
	for _, kind := range []string{"net", "pid", "mnt"} {
		if name, err := os.Readlink(filepath.Join(process, "ns", kind)); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// childrenOf are the processes whose parent is one of those.
func childrenOf(parents []string) []string {
	files, err := filepath.Glob("/proc/[0-9]*/status")
	Expect(err).NotTo(HaveOccurred())
	var children []string
	for _, file := range files {
		content, readErr := os.ReadFile(file)
		if readErr != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(content)) {
			if parent, found := strings.CutPrefix(line, "PPid:"); found &&
				slices.Contains(parents, filepath.Join("/proc", strings.TrimSpace(parent))) {
				children = append(children, filepath.Dir(file))
			}
		}
	}
	return children
}

// initOf is the first process in the namespaces of the node in dir.
func initOf(dir string) string {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(dir, "state.json"))
	Expect(err).NotTo(HaveOccurred())
	var state struct{ Init struct{ PID int } }
	Expect(json.Unmarshal(content, &state)).To(Succeed())
	return filepath.Join("/proc", strconv.Itoa(state.Init.PID))
}

// cgroupsOf are the directories of the cgroups of pods that a process is in. Other nodes of the machine have theirs beside
// them.
func cgroupsOf(process string) []string {
	content, err := os.ReadFile(filepath.Join(process, "cgroup"))
	if err != nil {
		return nil // it has ended
	}
	var dirs []string
	for line := range strings.Lines(string(content)) {
		if _, path, found := strings.Cut(strings.TrimSpace(line), "/k8s.io/"); found {
			for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
				matches, globErr := filepath.Glob(filepath.Join(root, "k8s.io", path))
				Expect(globErr).NotTo(HaveOccurred())
				dirs = append(dirs, matches...)
			}
		}
	}
	return dirs
}

// remains are the processes that are in one of the namespaces, as directories of /proc.
func (s space) remains() []string {
	links, err := filepath.Glob("/proc/[0-9]*/ns/*")
	if err != nil {
		return nil
	}
	var found []string
	for _, link := range links {
		// A process that has ended meanwhile has no namespaces.
		name, readErr := os.Readlink(link)
		if process := filepath.Dir(filepath.Dir(link)); readErr == nil && slices.Contains(s.names, name) &&
			!slices.Contains(found, process) {
			found = append(found, process)
		}
	}
	return found
}
