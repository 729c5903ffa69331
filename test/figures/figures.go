// Package figures publishes what the test suites measured and counted.
//
// A figure is one line, `FIGURE <name> <value> [unit]`. It goes to standard output, where a log keeps it, and into the
// file .figures/<suite> at the root of the source tree, so that `cat .figures/*` shows the figures of all suites.
// A suite calls [Start] once before its first figure; a figure that is published again takes the place of the earlier one.
package figures

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// directory, at the root of the source tree, holds one file per suite. Git ignores it.
const directory = ".figures"

// mutex orders the read-modify-write of the files. Two processes never write one suite's file.
var mutex sync.Mutex

// Start forgets the figures of the suite's earlier run.
func Start(suite string) error {
	mutex.Lock()
	defer mutex.Unlock()
	path, err := file(suite)
	if err != nil {
		return err
	}
	if err = os.WriteFile(path, nil, 0o600); err != nil {
		return fmt.Errorf("start figures of suite %q: %w", suite, err)
	}
	return nil
}

// Count publishes how many of the cases of one sort passed, as <passed>/<total>.
func Count(suite, name string, passed, total int) error {
	return Value(suite, name, fmt.Sprintf("%d/%d", passed, total), "")
}

// Value publishes one measured value. Floats are written without an exponent, all else as fmt prints it; neither the
// value nor the name may be empty or contain white space. unit may be empty.
func Value(suite, name string, value any, unit string) error {
	text := format(value)
	for _, word := range []string{name, text} {
		if len(strings.Fields(word)) != 1 || strings.TrimSpace(word) != word {
			return fmt.Errorf("publish figure %q of suite %q: name and value must be one word each, not %q", name, suite, word)
		}
	}
	line := strings.Join(append([]string{"FIGURE", name, text}, strings.Fields(unit)...), " ")

	mutex.Lock()
	defer mutex.Unlock()
	path, err := file(suite)
	if err != nil {
		return err
	}
	if err = put(path, name, line); err != nil {
		return fmt.Errorf("publish figure %q of suite %q: %w", name, suite, err)
	}
	if _, err = fmt.Println(line); err != nil {
		return fmt.Errorf("print figure %q of suite %q: %w", name, suite, err)
	}
	return nil
}

// put replaces the line of that figure in the file, or adds it at the end.
func put(path, name, line string) error {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	lines, replaced := []string{}, false
	for _, old := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		fields := strings.Fields(old)
		switch {
		case len(fields) == 0:
			continue
		case len(fields) > 1 && fields[1] == name:
			old, replaced = line, true
		}
		lines = append(lines, old)
	}
	if !replaced {
		lines = append(lines, line)
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func format(value any) string {
	switch number := value.(type) {
	case float64:
		return strconv.FormatFloat(number, 'f', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(number), 'f', -1, 32)
	}
	return fmt.Sprint(value)
}

// file is the path of the suite's file; its directory exists.
func file(suite string) (string, error) {
	if suite == "" || strings.ContainsAny(suite, `/\ `) || strings.HasPrefix(suite, ".") {
		return "", fmt.Errorf("figures of suite %q: the name of a suite is one word that can name a file", suite)
	}
	root, err := Root()
	if err != nil {
		return "", fmt.Errorf("figures of suite %q: %w", suite, err)
	}
	dir := filepath.Join(root, directory)
	if err = os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("figures of suite %q: %w", suite, err)
	}
	return filepath.Join(dir, suite), nil
}

// Root is the root of the source tree: the nearest directory with a go.mod, from the working directory upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the root of the source tree: %w", err)
	}
	for {
		_, err = os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, os.ErrNotExist) || parent == dir {
			return "", fmt.Errorf("find the root of the source tree: %w: run this inside it", err)
		}
		dir = parent
	}
}
