package attach

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// apiWords are the values of the string constants of the API package.
func apiWords(t *testing.T) []string {
	t.Helper()
	var words []string
	for _, file := range []string{"conditions.go", "names.go"} {
		for _, word := range constants(t, filepath.Join("..", "..", "..", "api", "terdut", "v1alpha1", file)) {
			words = append(words, word)
		}
	}
	return words
}

// constants are the string constants that a file declares, by name.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					out[spec.Names[i].Name] = text
				}
			}
		}
		return true
	})
	return out
}

var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)

// TestWordsOfTheEngine: packages that know no kind spell the types and reasons
// of conditions and Events themselves. Each has to be one of the API's.
func TestWordsOfTheEngine(t *testing.T) {
	known := apiWords(t)
	seen := 0
	for _, pattern := range []string{"../../internal/remote/*.go", "../../internal/status/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if matched, _ := filepath.Match("*_test.go", filepath.Base(file)); matched {
				continue
			}
			for name, word := range literals(t, file) {
				if word != name && !slices.Contains(known, word) {
					t.Errorf("%s spells %q, which the API package does not", file, word)
				}
				seen++
			}
		}
	}
	if seen < 15 {
		t.Errorf("found %d words only: the packages must have moved", seen)
	}
}

// ordinary are words of other sorts in the two packages.
var ordinary = []string{
	"Waiting",   // the beginning of several reasons
	"Reconcile", // the action of every Event
}

// literals are the literals of a file that look like a type or a reason.
func literals(t *testing.T, file string) map[string]string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			if err == nil && camelCase.MatchString(text) && !slices.Contains(ordinary, text) {
				out[literal.Value] = text
			}
		}
		return true
	})
	return out
}
