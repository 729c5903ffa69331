package stage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are the paths of what is built here.
type programs struct{ operator, server string }

// Build builds the operator and the reference server into the user's cache directory. Go builds only what has changed.
func (s *Stage) Build(ctx context.Context) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find the cache directory: %w: set HOME or XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(cache, "terdut-operator", "demo")
	if err = os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory for the programs: %w", err)
	}
	s.programs = programs{operator: filepath.Join(dir, "terdut-operator"), server: filepath.Join(dir, "refserver")}

	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator),
		"./cmd/terdut-operator", "./test/refserver/cmd/refserver")
	cmd.Dir = s.Root
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("go build: %s", explainBuild(string(output), err))
	}
	return nil
}

// offline are the words with which Go says that it cannot reach a module proxy.
var offline = []string{"dial tcp", "no such host", "connection refused", "i/o timeout", "proxyconnect", "disabled by GOPROXY=off"}

// explainBuild is one line about a build that failed.
func explainBuild(output string, err error) string {
	first := firstLine(output)
	if first == "" {
		return err.Error()
	}
	for _, word := range offline {
		if strings.Contains(output, word) {
			return "a module cannot be downloaded: check the network, or set GOPROXY to a module proxy that can be reached (" + first + ")"
		}
	}
	return first
}

// firstLine is the first line that says something: Go names the package in a line of its own, behind a #.
func firstLine(output string) string {
	for line := range strings.SplitSeq(output, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: downloading") {
			return line
		}
	}
	return ""
}

// lastLine is the last line that says something.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
