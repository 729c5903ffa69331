// Command fuzz runs every fuzz test of the source tree, one after the other,
// and publishes how often each was executed. What makes one fail stays in the
// testdata/fuzz beside it, and is tried by every later `go test`.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// suite is the name of the figures.
const suite = "fuzz"

var (
	declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)
	executed = regexp.MustCompile(`execs: (\d+)`)
)

// target is one fuzz test.
type target struct {
	// directory is relative to the root of the source tree.
	directory, name string
}

func main() {
	each := flag.Duration("time", 10*time.Second, "how long each test is fuzzed")
	keep := flag.Bool("keep", false, "keep what was found worth remembering in testdata/fuzz")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *each, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, each time.Duration, keep bool) error {
	root, err := figures.Root()
	if err != nil {
		return err
	}
	targets, err := find(root)
	if err != nil {
		return err
	}
	if err := figures.Start(suite); err != nil {
		return err
	}
	passed := 0
	var failed error
	for _, t := range targets {
		executions, err := t.fuzz(ctx, root, each)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s in %s: %w", t.name, t.directory, err))
			continue
		}
		passed++
		if keep {
			kept, err := t.keep(root)
			if err != nil {
				return err
			}
			fmt.Printf("  kept %d new inputs\n", kept)
		}
		if err := figures.Value(suite, t.name, executions, "executions"); err != nil {
			return err
		}
	}
	return errors.Join(failed, figures.Count(suite, "fuzz-tests", passed, len(targets)))
}

// find are all fuzz tests of the root's module.
func find(root string) ([]target, error) {
	var targets []target
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if path != root && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		directory, err := filepath.Rel(root, filepath.Dir(path))
		for _, match := range declared.FindAllSubmatch(content, -1) {
			targets = append(targets, target{directory: directory, name: string(match[1])})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the fuzz tests: %w", err)
	}
	return targets, nil
}

// fuzz runs one test for a time, and returns how often it was executed.
func (t target) fuzz(ctx context.Context, root string, each time.Duration) (int, error) {
	fmt.Printf("%s in %s, for %s\n", t.name, t.directory, each)
	cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+each.String(), "./"+t.directory)
	cmd.Dir = root
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		_, copyErr := io.Copy(os.Stderr, &output)
		return 0, errors.Join(err, copyErr)
	}
	executions := 0
	for lines := bufio.NewScanner(&output); lines.Scan(); {
		if match := executed.FindSubmatch(lines.Bytes()); match != nil {
			count, err := strconv.Atoi(string(match[1]))
			if err != nil {
				return 0, fmt.Errorf("read how often it was executed: %w", err)
			}
			executions = count
		}
	}
	return executions, nil
}
