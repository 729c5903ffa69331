package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// largest is up to how many bytes an input is kept: what is larger shows
	// nothing that a reader could see.
	largest = 2 << 10
	// most is how many inputs a test keeps: each costs every later `go test`.
	most = 40
)

// keep copies what the fuzzer found worth remembering from Go's cache, which is
// one machine's, to the testdata beside the test, where every `go test` tries it.
// It returns how many were new.
func (t target) keep(root string) (int, error) {
	cache, err := output(root, "go", "env", "GOCACHE")
	if err != nil {
		return 0, err
	}
	pkg, err := output(root, "go", "list", "./"+t.directory)
	if err != nil {
		return 0, err
	}
	from := filepath.Join(cache, "fuzz", filepath.FromSlash(pkg), t.name)
	if _, err = os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	kept, err := fill(filepath.Join(root, t.directory, "testdata", "fuzz", t.name), from)
	if err != nil {
		return kept, fmt.Errorf("keep what was found: %w", err)
	}
	return kept, nil
}

// fill copies files to a directory until it has as many as it may have, and
// returns how many it copied.
func fill(to, from string) (kept int, err error) {
	if err = os.MkdirAll(to, 0o755); err != nil {
		return 0, err
	}
	had, err := os.ReadDir(to)
	if err != nil {
		return 0, err
	}
	found, err := os.ReadDir(from)
	if err != nil {
		return 0, err
	}
	for _, entry := range found {
		var content []byte
		content, err = os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return kept, err
		}
		known := slices.ContainsFunc(had, func(old fs.DirEntry) bool { return old.Name() == entry.Name() })
		if known || len(content) > largest {
			continue
		}
		if len(had)+kept >= most {
			break
		}
		if err = os.WriteFile(filepath.Join(to, entry.Name()), content, 0o644); err != nil {
			return kept, err
		}
		kept++
	}
	return kept, nil
}

func output(directory, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = directory
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
