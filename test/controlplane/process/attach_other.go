//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

func attach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
