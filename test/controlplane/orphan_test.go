package controlplane_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("a process that starts a control plane", func() {
	It("leaves nothing behind when it is killed", func(ctx SpecContext) {
		program := filepath.Join(GinkgoT().TempDir(), "controlplane")
		output, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/controlplane").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", output)

		temporary := GinkgoT().TempDir()
		kubeconfig := filepath.Join(temporary, "kubeconfig")
		victim := exec.CommandContext(ctx, program, "run", "-kubeconfig", kubeconfig)
		victim.Env = append(os.Environ(), "TMPDIR="+temporary)
		victim.Stderr = GinkgoWriter
		Expect(victim.Start()).To(Succeed())
		Eventually(kubeconfig).WithTimeout(patience).Should(BeAnExistingFile())

		pids := processes(temporary)
		Expect(pids).To(HaveLen(3), "etcd, kube-apiserver and kube-controller-manager")
		Expect(victim.Process.Kill()).To(Succeed())
		Expect(victim.Wait()).NotTo(Succeed())

		for _, pid := range pids {
			Eventually(func() bool { return runs(pid) }).WithTimeout(patience).Should(BeFalse())
		}
		Eventually(func() ([]string, error) {
			return filepath.Glob(filepath.Join(temporary, "terdut-controlplane-*"))
		}).WithTimeout(patience).Should(BeEmpty())
	})
})

// processes are the process IDs that a control plane with its working directory in temporary has noted.
func processes(temporary string) []int {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(temporary, "terdut-controlplane-*", "pids", "*"))
	Expect(err).NotTo(HaveOccurred())
	var pids []int
	for _, file := range files {
		content, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
		Expect(err).NotTo(HaveOccurred())
		pids = append(pids, pid)
	}
	return pids
}

// runs tells whether a process lives. One that is dead and that nobody has waited for counts as gone: in a container the
// first process may reap no orphans.
func runs(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	command, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err != nil || len(command) > 0
}
