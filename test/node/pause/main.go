// Command pause does nothing until it is told to end. It is the process that holds the namespaces of a pod and, in another
// place, those of the whole node. As the first process of a PID namespace it inherits the orphans there and has to wait
// for them.
package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 && !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	}
}
