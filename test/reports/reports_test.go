package reports

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

var update = flag.Bool("update", false, "write docs/field-reports.md anew")

const (
	root = "../.."
	page = root + "/docs/field-reports.md"
)

// TestReports: every report that could be had here names tests that are there.
func TestReports(t *testing.T) {
	found := map[string]*names{}
	applicable, tested := 0, 0
	for i := range All {
		r := &All[i]
		if r.Number != i+1 || len(r.Sources) == 0 || r.Applies() != (len(r.Tests) > 0) {
			t.Errorf("report %d of the table is number %d, %q, with %d sources and %d tests", i+1, r.Number, r.Title, len(r.Sources), len(r.Tests))
		}
		if !r.Applies() {
			continue
		}
		applicable++
		missing := missingTests(t, r, found)
		for _, name := range missing {
			t.Errorf("%d: there is no test %s", r.Number, name)
		}
		if len(missing) == 0 {
			tested++
		}
	}
	if err := figures.Start("reports"); err != nil {
		t.Fatal(err)
	}
	if err := figures.Count("reports", "reports-tested", tested, applicable); err != nil {
		t.Fatal(err)
	}
	if tested != applicable {
		t.Errorf("%d of %d reports are tested", tested, applicable)
	}
}

func missingTests(t *testing.T, r *Report, found map[string]*names) []string {
	t.Helper()
	var missing []string
	for _, test := range r.Tests {
		if found[test.Package] == nil {
			found[test.Package] = namesIn(t, test.Package)
		}
		if !found[test.Package].has(test.Name) {
			missing = append(missing, fmt.Sprintf("%q in %s", test.Name, test.Package))
		}
	}
	return missing
}

// names are what the tests of a package are called.
type names struct{ whole, beginnings []string }

func (n *names) has(name string) bool {
	return slices.Contains(n.whole, name) || slices.Contains(n.beginnings, name)
}

// namesIn reads the test files of a directory.
func namesIn(t *testing.T, directory string) *names {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(directory), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := &names{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && strings.HasPrefix(n.Name.Name, "Test") {
					out.whole = append(out.whole, n.Name.Name)
				}
			case *ast.CallExpr:
				out.node(n)
			case *ast.KeyValueExpr:
				out.row(n)
			}
			return true
		})
	}
	return out
}

// node takes the text of a Ginkgo node.
func (n *names) node(call *ast.CallExpr) {
	f, ok := call.Fun.(*ast.Ident)
	if !ok || len(call.Args) == 0 || !slices.Contains([]string{"It", "Describe", "DescribeTable", "Entry", "Context", "When"}, f.Name) {
		return
	}
	switch text := call.Args[0].(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(text.Value); err == nil {
			n.whole = append(n.whole, s)
		}
	case *ast.BinaryExpr:
		if s := leftmost(text); s != "" {
			n.beginnings = append(n.beginnings, s)
		}
	}
}

// row takes the name of a row of a table of nodes.
func (n *names) row(pair *ast.KeyValueExpr) {
	key, isName := pair.Key.(*ast.Ident)
	value, isText := pair.Value.(*ast.BasicLit)
	if isName && isText && key.Name == "name" {
		if s, err := strconv.Unquote(value.Value); err == nil {
			n.whole = append(n.whole, s)
		}
	}
}

// leftmost is what a text that is put together begins with.
func leftmost(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return leftmost(e.X)
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	default:
		return ""
	}
}

// TestPage: the document says what the table says.
func TestPage(t *testing.T) {
	want := render()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says: go test ./test/reports -update", page)
	}
}

func render() string {
	var b strings.Builder
	b.WriteString("# What the field has reported, and what is done about it\n\n" +
		"<!-- made from test/reports: go test ./test/reports -update -->\n\n" +
		"Thirty faults that users of comparable operators have reported, chosen because they hurt. Each says what this operator does\n" +
		"about it and names the tests that show it; a test insists that they are there. The sources are the reports, or the changes\n" +
		"that ended them.\n")
	group := ""
	for i := range All {
		r := &All[i]
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		fmt.Fprintf(&b, "\n**%d. %s.** ", r.Number, r.Title)
		for _, source := range r.Sources {
			fmt.Fprintf(&b, "[%s](%s) ", short(source), source)
		}
		if !r.Applies() {
			fmt.Fprintf(&b, "\nCannot be had here: %s.\n", r.NotHere)
			continue
		}
		fmt.Fprintf(&b, "\nHere: %s.\n\n", r.Answer)
		for _, test := range r.Tests {
			fmt.Fprintf(&b, "- `%s`: %s\n", test.Package, strings.TrimSuffix(test.Name, ": "))
		}
	}
	return b.String()
}

// short is what a link is called: project and number.
func short(source string) string {
	parts := strings.Split(strings.TrimPrefix(source, hub), "/")
	return parts[1] + "#" + parts[len(parts)-1]
}
