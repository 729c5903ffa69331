package rbac

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// chartSuite is the suite that runs the operator as the chart's ServiceAccount.
const chartSuite = "chart"

// held gives the reason for a right that no request of a suite shows, empty for
// all others. granted are all rights.
func held(r Right, granted []Right) string {
	watch := r
	watch.Verb = "watch"
	switch {
	case r.Verb == "update" && strings.HasSuffix(r.Resource, "/finalizers"):
		return "admission (OwnerReferencesPermissionEnforcement) asks for it where a child names its owner as one that waits for it"
	case r.Verb == "list" && slices.Contains(granted, watch):
		return "a cache lists where the API server cannot stream a list, as before Kubernetes 1.32"
	case r == Right{Resource: "events", Verb: "patch"}:
		return "the election of a leader patches its Event when it tells the same again"
	}
	return ""
}

// Report is the comparison over all suites.
type Report struct {
	// Unused are granted rights that no suite used.
	Unused []Right
	// Held are granted rights that no suite can show, as "right: reason".
	Held []string
	// Refused are the rights that the operator lacked, as "suite: right".
	Refused []string
	// Missing are the suites that have left nothing since they were last begun.
	Missing []string
}

// Compare reads what the suites have left.
func Compare() (*Report, error) {
	granted, err := Granted()
	if err != nil {
		return nil, err
	}
	suites, err := Suites()
	if err != nil {
		return nil, err
	}
	root, err := figures.Root()
	if err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(root, directory, "*.json"))
	if err != nil {
		return nil, err
	}
	report, used := &Report{}, map[Right]bool{}
	for _, path := range left {
		suite := strings.TrimSuffix(filepath.Base(path), ".json")
		suites = slices.DeleteFunc(suites, func(one string) bool { return one == suite })
		usage, err := read(path)
		if err != nil {
			return nil, err
		}
		for _, r := range usage.Used {
			used[r] = true
		}
		for _, r := range usage.Refused {
			report.Refused = append(report.Refused, suite+": "+r.String())
		}
	}
	report.Missing = suites
	for _, r := range granted {
		reason := held(r, granted)
		switch {
		case used[r]:
		case reason != "":
			report.Held = append(report.Held, r.String()+": "+reason)
		default:
			report.Unused = append(report.Unused, r)
		}
	}
	return report, nil
}

// read reads what a suite has left.
func read(path string) (*Usage, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read used rights: %w", err)
	}
	usage := &Usage{}
	if err := json.Unmarshal(content, usage); err != nil {
		return nil, fmt.Errorf("read the used rights in %s: %w: run the suite again", path, err)
	}
	return usage, nil
}

// Suites are the names of the suites that must be heard: all that run the operator on a real API server,
// the directories of test/envtest, and the chart's.
func Suites() ([]string, error) {
	root, err := figures.Root()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(root, "test", "envtest"))
	if err != nil {
		return nil, fmt.Errorf("list the suites: %w", err)
	}
	suites := []string{chartSuite}
	for _, entry := range entries {
		if entry.IsDir() {
			suites = append(suites, entry.Name())
		}
	}
	slices.Sort(suites)
	return suites, nil
}
