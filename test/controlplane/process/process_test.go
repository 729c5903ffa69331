package process_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
)

func TestExitCodes(t *testing.T) {
	for script, want := range map[string]int{
		"exit 0":        0,
		"exit 3":        3,
		"kill -TERM $$": 128 + int(syscall.SIGTERM),
	} {
		t.Run(script, func(t *testing.T) {
			g := NewWithT(t)
			p, err := process.Start(exec.Command("/bin/sh", "-c", script))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.ExitCode()).To(Equal(want))
		})
	}
}

func TestStopKillsWhatIgnoresTheSignal(t *testing.T) {
	g := NewWithT(t)
	cmd := exec.Command("/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
	output, err := cmd.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	p, err := process.Start(cmd)
	g.Expect(err).NotTo(HaveOccurred())
	line, err := bufio.NewReader(output).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(line).To(Equal("ready\n"))

	p.Stop(10 * time.Millisecond)
	g.Expect(p.Done()).To(BeClosed())
	g.Expect(p.Signal()).To(Equal(syscall.SIGKILL))
	p.Stop(time.Hour)
}

func TestStartKeepsTheUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start a process as another user")
	}
	g := NewWithT(t)
	var output bytes.Buffer
	cmd := exec.Command("/usr/bin/id", "-u")
	cmd.Stdout = &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	p, err := process.Start(cmd)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.ExitCode()).To(BeZero())
	g.Expect(output.String()).To(Equal("65534\n"))
}

func TestStartNamesTheProgram(t *testing.T) {
	_, err := process.Start(exec.Command("/does/not/exist"))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("start /does/not/exist")))
}
