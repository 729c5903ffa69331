package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Program is one program of a nested module.
type Program struct {
	// Name is the name of the file that is built.
	Name string
	// Version is shown to the reader, with a leading v where there is one.
	Version string
	// Dir is the directory of the nested module; Package is what go build is asked for there.
	Dir, Package string
	// Tags are Go build tags, separated by commas.
	Tags string
	// LinkerFlags are added to those that strip the binary.
	LinkerFlags string
	// Cgo links the program with C code. What it takes is named in Needs; other programs are static.
	Cgo bool
	// Needs says what a machine must have for the build besides Go, in words: it is part of the error when a build with
	// Cgo fails.
	Needs string
	// Otherwise is what to do instead of building, as in "set X to a directory with Y". It may be empty.
	Otherwise string
}

// build compiles the program into dir and returns its path. Packages that two programs share are compiled once, by Go's
// build cache.
func (p Program) build(ctx context.Context, dir string, log io.Writer) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("build %s: no go command in PATH: install Go%s", p.Name, p.or())
	}
	partial := filepath.Join(dir, partialPrefix+p.Name)
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-tags", p.Tags,
		"-ldflags", strings.TrimSpace("-s -w "+p.LinkerFlags), "-o", partial, p.Package)
	cmd.Dir = p.Dir
	cgo := "0"
	if p.Cgo {
		cgo = "1"
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo, "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output

	done := Progress(log, strings.TrimSpace(fmt.Sprintf("building %s %s", p.Name, p.Version))+" from source")
	err := cmd.Run()
	done(err)
	if err != nil {
		return "", p.explain(ctx, output.String(), err)
	}
	path := filepath.Join(dir, p.Name)
	if err := os.Rename(partial, path); err != nil {
		return "", fmt.Errorf("build %s: %w", p.Name, err)
	}
	return path, nil
}

// or is the way around a build, as the end of a sentence.
func (p Program) or() string {
	if p.Otherwise == "" {
		return ""
	}
	return ", or " + p.Otherwise
}

// proxySigns are in the output of a go command that did not get a module.
var proxySigns = []string{
	"dial tcp", "no such host", "404 Not Found", "410 Gone", "403 Forbidden", "i/o timeout", "module lookup disabled",
	"unrecognized import path",
}

// explain makes one line of what the go command wrote.
func (p Program) explain(ctx context.Context, output string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("build %s: %w", p.Name, context.Cause(ctx))
	}
	what := strings.TrimSpace(p.Name + " " + p.Version)
	line := LastLine(output, err)
	for _, sign := range proxySigns {
		if strings.Contains(output, sign) {
			return fmt.Errorf("build %s: the module proxy does not serve what it needs; set GOPROXY to one that does%s: %s",
				what, p.or(), line)
		}
	}
	if strings.Contains(output, "no space left on device") {
		return fmt.Errorf("build %s: no space left on device: 4 GB are needed in GOCACHE, GOMODCACHE and TMPDIR: %w", what, err)
	}
	if p.Needs != "" {
		return fmt.Errorf("build %s (it needs %s): %s", what, p.Needs, line)
	}
	return fmt.Errorf("build %s: %s", what, line)
}

// LastLine is the last line of output that is not empty, or else the text of err.
func LastLine(output string, err error) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if line := strings.TrimSpace(lines[len(lines)-1]); line != "" {
		return line
	}
	if err == nil {
		err = errors.New("no output")
	}
	return err.Error()
}
