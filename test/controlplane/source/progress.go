package source

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// How often a long step shows that it lives: a terminal's line is overwritten, a log gets a line more.
const (
	terminalInterval = time.Second
	logInterval      = 15 * time.Second
)

// say writes one line to log. What is written there is for a reader who waits; a writer that fails changes nothing.
func say(log io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(log, format+"\n", args...)
}

// Progress shows step and the seconds that it has taken until the returned function is called with the step's outcome.
func Progress(log io.Writer, step string) func(error) {
	interval, head, tail := logInterval, "", "\n"
	if file, ok := log.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		interval, head, tail = terminalInterval, "\r", ""
	}
	begin := time.Now()
	show := func(end string) {
		_, _ = fmt.Fprintf(log, "%s%s ... %d s%s", head, step, int(time.Since(begin).Seconds()), end)
	}
	show(tail)
	stop := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				show(tail)
			}
		}
	})
	return func(err error) {
		close(stop)
		shown.Wait()
		if err != nil {
			show(", failed\n")
			return
		}
		show(", done\n")
	}
}
