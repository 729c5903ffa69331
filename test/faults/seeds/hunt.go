package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// result is what became of one seed.
type result struct {
	seed
	catch
	took time.Duration
	// err is why there is no verdict: the campaign cannot be played.
	err error
}

// catch is what TestHunt prints.
type catch struct {
	Scenario string   `json:"scenario"`
	Faults   string   `json:"faults"`
	Wrong    []string `json:"wrong"`
}

// killed tells whether an oracle has complained.
func (r *result) killed() bool { return r.err == nil && len(r.Wrong) > 0 }

// hunter plays the campaign on an operator with bugs.
type hunter struct {
	// root is that of the source tree, and binary the campaign.
	root, binary string
	// scenarios are those that are played on every seed.
	scenarios []string
}

// build compiles the campaign with all seeds, beside the source tree.
func build(ctx context.Context, root, scratch string, seeds []seed) (binary string, err error) {
	files, err := field(root, seeds)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, content := range files {
		replace[path] = filepath.Join(scratch, strconv.Itoa(len(replace))+".go")
		if err = os.WriteFile(replace[path], content, 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(scratch, "overlay.json")
	if err = os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(scratch, "faults.test")
	_, err = run(ctx, root, nil, "go", "test", "-c", "-overlay", list, "-o", binary, "./test/faults")
	return binary, err
}

// hunt plays the campaign with one seed at work: first the scenarios that should
// meet it, then all others, until an oracle complains.
func (h *hunter) hunt(ctx context.Context, s *seed) (out result) {
	begin := time.Now()
	out.seed = *s
	out.catch, out.err = h.play(ctx, s.Name, h.order(s))
	out.took = time.Since(begin)
	return out
}

// order is that in which the scenarios are played.
func (h *hunter) order(s *seed) []string {
	out, seen := []string(nil), map[string]bool{}
	for _, names := range [][]string{s.Expect, h.scenarios} {
		for _, name := range names {
			if !seen[name] {
				out = append(out, name)
			}
			seen[name] = true
		}
	}
	return out
}

func (h *hunter) play(ctx context.Context, name string, scenarios []string) (catch, error) {
	output, err := run(ctx, filepath.Join(h.root, "test", "faults"), []string{variable + "=" + name, "HUNT=" + strings.Join(scenarios, ",")},
		h.binary, "-test.run=^TestHunt$", "-test.timeout=1h")
	if err != nil {
		return catch{}, err
	}
	for line := range strings.Lines(output) {
		if text, found := strings.CutPrefix(line, "CAUGHT "); found {
			var c catch
			return c, json.Unmarshal([]byte(text), &c)
		}
	}
	return catch{}, nil
}

// run runs a command and returns what it prints, which is also in its error.
func run(ctx context.Context, directory string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = directory, append(os.Environ(), env...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, output.String())
	}
	return output.String(), nil
}
