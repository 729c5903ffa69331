package figures_test

import (
	"os"
	"path/filepath"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// inTree makes a source tree of its own and works two directories below its root.
func inTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	below := filepath.Join(root, "test", "suite")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/tree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expectFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	must(t, err)
	if string(got) != want {
		t.Errorf("%s holds %q, want %q", filepath.Base(path), got, want)
	}
}

func TestFiguresAreReplacedByNameAndForgottenAtStart(t *testing.T) {
	path := filepath.Join(inTree(t), ".figures", "cel")
	must(t, figures.Value("cel", "latency", 0.00000125, "s"))
	must(t, figures.Count("cel", "cases", 1, 3))
	must(t, figures.Count("cel", "cases-more", 2, 2))
	must(t, figures.Count("cel", "cases", 3, 3))
	expectFile(t, path, "FIGURE latency 0.00000125 s\nFIGURE cases 3/3\nFIGURE cases-more 2/2\n")

	must(t, figures.Start("cel"))
	expectFile(t, path, "")
	must(t, figures.Value("cel", "objects", 7, ""))
	expectFile(t, path, "FIGURE objects 7\n")
}

func TestSuitesDoNotTouchEachOther(t *testing.T) {
	root := inTree(t)
	must(t, figures.Count("one", "cases", 1, 1))
	must(t, figures.Start("two"))
	must(t, figures.Count("two", "cases", 2, 2))
	expectFile(t, filepath.Join(root, ".figures", "one"), "FIGURE cases 1/1\n")
	expectFile(t, filepath.Join(root, ".figures", "two"), "FIGURE cases 2/2\n")
}

func TestWhatWouldBreakTheLineIsRefused(t *testing.T) {
	inTree(t)
	for _, bad := range []struct {
		suite, name string
		value       any
	}{
		{"", "name", 1},
		{"../escape", "name", 1},
		{".hidden", "name", 1},
		{"suite", "", 1},
		{"suite", "two words", 1},
		{"suite", "name", "two\nlines"},
		{"suite", "name", ""},
	} {
		if err := figures.Value(bad.suite, bad.name, bad.value, ""); err == nil {
			t.Errorf("suite %q, name %q, value %q: accepted", bad.suite, bad.name, bad.value)
		}
	}
}
