package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Running are the names of the programs that this process has started and that still run. It knows them on Linux only;
// elsewhere it is empty.
func Running() []string {
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	var names []string
	for _, file := range files {
		content, readErr := os.ReadFile(file)
		if readErr != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(content)) {
			// A process that has ended meanwhile has no name any more.
			if name, nameErr := os.ReadFile(filepath.Join("/proc", pid, "comm")); nameErr == nil {
				names = append(names, strings.TrimSpace(string(name)))
			}
		}
	}
	slices.Sort(names)
	return names
}

// Servers is how many reference servers run.
func Servers() int {
	count := 0
	for _, name := range Running() {
		if name == "refserver" {
			count++
		}
	}
	return count
}

// children complains about what still runs.
func (s *Stage) children() error {
	if left := Running(); len(left) > 0 {
		return fmt.Errorf("still running after the end: %s", strings.Join(left, ", "))
	}
	return nil
}
