// Package screen writes what a person reads while the demo runs: numbered steps, what is being waited for, tables.
//
// Nothing here knows a secret; [MaskLast] takes the one part out of an address that is one.
package screen

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// Width of the text before a duration, so that the durations stand in one column.
const width = 68

// How often a wait shows that it lives. A terminal's line is overwritten; a log gets a line more, and only when the wait
// is long.
const (
	terminalInterval = time.Second
	logInterval      = 15 * time.Second
)

// Screen writes to one place. Its methods may be called from several goroutines, but two waits do not overlap.
type Screen struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
}

// New makes a screen on out.
func New(out io.Writer) *Screen {
	file, ok := out.(*os.File)
	return &Screen{out: out, terminal: ok && term.IsTerminal(int(file.Fd()))}
}

// Write implements [io.Writer], for what reports its own progress. It fails like the place that it writes to.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

// printf writes for a reader; a writer that fails changes nothing.
func (s *Screen) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s, format, args...)
}

// Step begins a step of the story.
func (s *Screen) Step(number, of int, name string) { s.printf("\n[%d/%d] %s\n", number, of, name) }

// Line writes one line about the current step.
func (s *Screen) Line(format string, args ...any) { s.printf("  "+format+"\n", args...) }

// Blank writes an empty line.
func (s *Screen) Blank() { s.printf("\n") }

// During does something that may take long, and shows what and for how long.
func (s *Screen) During(what string, do func() error) error {
	begin := time.Now()
	stop := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() { s.tick(what, begin, stop) })
	err := do()
	close(stop)
	shown.Wait()
	mark := "ok"
	if err != nil {
		mark = "--"
	}
	s.printf("%s  %s %-*s %6.1f s\n", s.home(), mark, width, what, time.Since(begin).Seconds())
	return err
}

// tick shows the seconds until stop is closed.
func (s *Screen) tick(what string, begin time.Time, stop <-chan struct{}) {
	interval := logInterval
	if s.terminal {
		interval = terminalInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			s.printf("%s  .. %-*s %4d s%s", s.home(), width, what, int(time.Since(begin).Seconds()), s.tail())
		}
	}
}

// home goes to the beginning of a terminal's line and clears it.
func (s *Screen) home() string {
	if s.terminal {
		return "\r\x1b[K"
	}
	return ""
}

func (s *Screen) tail() string {
	if s.terminal {
		return ""
	}
	return "\n"
}
