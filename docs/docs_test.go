// Package docs_test keeps the documents true where a machine can tell.
package docs_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// root of the source tree, seen from here.
const root = ".."

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// reasons are the values of all constants in conditions.go whose name begins with Reason.
func reasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "api/terdut/v1alpha1/conditions.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			if !strings.HasPrefix(name.Name, "Reason") {
				continue
			}
			if i >= len(spec.Values) {
				t.Fatalf("%s has no value of its own", name.Name)
			}
			literal, isLiteral := spec.Values[i].(*ast.BasicLit)
			if !isLiteral {
				t.Fatalf("%s is no literal", name.Name)
			}
			value, unquoteErr := strconv.Unquote(literal.Value)
			if unquoteErr != nil {
				t.Fatalf("%s: %v", name.Name, unquoteErr)
			}
			out = append(out, value)
		}
		return true
	})
	if len(out) == 0 {
		t.Fatal("conditions.go has no reasons: did they move?")
	}
	return out
}

func TestEveryReasonIsExplained(t *testing.T) {
	const page = "docs/troubleshooting.md"
	explained := map[string]bool{}
	for _, h := range headings(read(t, page)) {
		explained[h] = true
	}
	for _, reason := range append(reasons(t), "KeyUnknown") {
		if !explained[reason] {
			t.Errorf("%s has no heading %q: say what it means and what to do", page, reason)
		}
	}
}

var (
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	inTree  = regexp.MustCompile("`((?:api|applyconfig|cmd|config|controllers|docs|hack|openapi|terdutapi|test)/[A-Za-z0-9_./-]+)`")
	target  = regexp.MustCompile("`(?:KEEP=1 )?make ([a-z]+)`")
	example = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
)

func headings(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		out = append(out, strings.TrimSpace(m[1]))
	}
	return out
}

// anchors are the fragments that a forge gives to the headings of a page.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, h := range headings(text) {
		out[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, h)] = true
	}
	return out
}

// pages are all Markdown files of the tree, hidden directories aside.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case strings.HasSuffix(d.Name(), ".md"):
			rel, relErr := filepath.Rel(root, path)
			out = append(out, rel)
			return relErr
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return !errors.Is(err, fs.ErrNotExist)
}

func TestLinksResolve(t *testing.T) {
	for _, page := range pages(t) {
		text := fence.ReplaceAllString(read(t, page), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			path, fragment, _ := strings.Cut(m[1], "#")
			file := page
			if path != "" {
				file = filepath.Join(filepath.Dir(page), path)
			}
			if !exists(file) {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if fragment != "" && !anchors(read(t, file))[fragment] {
				t.Errorf("%s links to %s, and %s has no such heading", page, m[1], file)
			}
		}
	}
}

// What a document names by its path is there, and so is every make target.
func TestNamedFilesAndTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, page := range pages(t) {
		if dir := filepath.Dir(page); dir != "." && !strings.HasPrefix(dir, "docs") {
			continue
		}
		text := fence.ReplaceAllString(read(t, page), "")
		for _, m := range inTree.FindAllStringSubmatch(text, -1) {
			if !exists(m[1]) {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which the Makefile does not have", page, m[1])
			}
		}
	}
}

func TestReadmeNamesTheTwoCommands(t *testing.T) {
	for _, command := range []string{"`make test`", "`make demo`"} {
		if !strings.Contains(read(t, "README.md"), command) {
			t.Errorf("README.md does not name %s", command)
		}
	}
}

// A misspelled field in an example costs a newcomer an evening.
func TestReadmeExamplesFitTheTypes(t *testing.T) {
	types := map[string]func() any{
		"TerdutServer":         func() any { return &v1alpha1.TerdutServer{} },
		"TerdutTeam":           func() any { return &v1alpha1.TerdutTeam{} },
		"TerdutEscalationRule": func() any { return &v1alpha1.TerdutEscalationRule{} },
		"TerdutDeadmanSwitch":  func() any { return &v1alpha1.TerdutDeadmanSwitch{} },
		"TerdutAlertSource":    func() any { return &v1alpha1.TerdutAlertSource{} },
	}
	count := 0
	for _, block := range example.FindAllSubmatch([]byte(read(t, "README.md")), -1) {
		for _, document := range bytes.Split(block[1], []byte("\n---\n")) {
			var is struct {
				Kind string `json:"kind"`
			}
			if err := yaml.Unmarshal(document, &is); err != nil {
				t.Fatal(err)
			}
			empty, known := types[is.Kind]
			if !known {
				t.Errorf("README.md shows the kind %q, which there is not", is.Kind)
				continue
			}
			if err := yaml.UnmarshalStrict(document, empty()); err != nil {
				t.Errorf("README.md: %s: %v", is.Kind, err)
			}
			count++
		}
	}
	if count == 0 {
		t.Error("README.md shows no object")
	}
}

// Every decision stands in the index, and has the four parts.
func TestDecisionsAreIndexed(t *testing.T) {
	index := read(t, "docs/decisions/README.md")
	for _, page := range pages(t) {
		name := filepath.Base(page)
		if filepath.Dir(page) != filepath.Join("docs", "decisions") || name == "README.md" {
			continue
		}
		if !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/decisions/README.md does not list %s", name)
		}
		have := strings.Join(headings(read(t, page)), "\n") + "\n"
		for _, part := range []string{"Context", "Decision", "Rejected", "Status"} {
			if !strings.Contains(have, "\n"+part+"\n") {
				t.Errorf("%s has no part %s", page, part)
			}
		}
	}
}
