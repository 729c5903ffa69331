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
	mounts, links, cgroups, sysctls []string
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
	for _, pattern := range []string{"/sys/fs/cgroup/k8s.io/*", "/sys/fs/cgroup/*/k8s.io/*"} {
		dirs, globErr := filepath.Glob(pattern)
		Expect(globErr).NotTo(HaveOccurred())
		found.cgroups = append(found.cgroups, dirs...)
	}
	for _, name := range []string{"kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "vm/panic_on_oom", "net/ipv4/ip_forward"} {
		value, readErr := os.ReadFile(filepath.Join("/proc/sys", name))
		Expect(readErr).NotTo(HaveOccurred())
		found.sysctls = append(found.sysctls, name+" "+strings.TrimSpace(string(value)))
	}
	return found
}

// space are the namespaces of one node.
type space []string

// spaceOf finds out the namespaces of the node in dir.
func spaceOf(dir string) space {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(dir, "state.json"))
	Expect(err).NotTo(HaveOccurred())
	var state struct{ Init struct{ PID int } }
	Expect(json.Unmarshal(content, &state)).To(Succeed())
	var made space
	for _, kind := range []string{"net", "pid", "mnt"} {
		name, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(state.Init.PID), "ns", kind))
		Expect(err).NotTo(HaveOccurred())
		made = append(made, name)
	}
	return made
}

// remains are the processes that are in one of the namespaces.
func (s space) remains() []string {
	links, err := filepath.Glob("/proc/[0-9]*/ns/*")
	if err != nil {
		return nil
	}
	var found []string
	for _, link := range links {
		// A process that has ended meanwhile has no namespaces.
		if name, readErr := os.Readlink(link); readErr == nil && slices.Contains(s, name) {
			found = append(found, link)
		}
	}
	return found
}
