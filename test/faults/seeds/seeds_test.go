package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"git.ryuvia.com/niklas/terdut-operator/test/faults"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// TestEverySeedTakes: each edits one place that is there, what comes out of it
// compiles, and the scenarios that should meet it are there.
func TestEverySeedTakes(t *testing.T) {
	root, err := figures.Root()
	if err != nil {
		t.Fatal(err)
	}
	seeds, err := all()
	if err != nil {
		t.Fatal(err)
	}
	var scenarios []string
	for _, s := range faults.Scenarios() {
		scenarios = append(scenarios, s.Name)
	}
	product := load(t, root)
	for _, s := range seeds {
		t.Run(s.Name, func(t *testing.T) {
			files, err := field(root, []seed{s})
			if err != nil {
				t.Fatal(err)
			}
			if err := product.check(filepath.Dir(filepath.Join(root, filepath.FromSlash(s.File))), files); err != nil {
				t.Error(err)
			}
			for _, name := range s.Expect {
				if !slices.Contains(scenarios, name) {
					t.Errorf("there is no scenario %q", name)
				}
			}
		})
	}
}

// listed is a package as `go list -export` tells of it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// product is the source of the operator, and what it is compiled against. A
// check of types takes a moment, a compiler would take a minute.
type product struct {
	byDir    map[string]*listed
	files    *token.FileSet
	compiled types.Importer
}

func load(t *testing.T, root string) *product {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./controllers/...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	p := &product{byDir: map[string]*listed{}, files: token.NewFileSet()}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		one := &listed{}
		if err := decoder.Decode(one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		p.byDir[one.Dir], exports[one.ImportPath] = one, one.Export
	}
	p.compiled = importer.ForCompiler(p.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return p
}

// check checks the types of a package, of which some files read otherwise.
func (p *product) check(directory string, files map[string][]byte) error {
	one, ok := p.byDir[directory]
	if !ok {
		return errors.New(directory + " is no part of the operator")
	}
	paths := slices.Collect(maps.Keys(files))
	for _, name := range one.GoFiles {
		if path := filepath.Join(directory, name); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	var syntax []*ast.File
	for _, path := range paths {
		var source any
		if content, sown := files[path]; sown {
			source = content
		}
		file, err := parser.ParseFile(p.files, path, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		syntax = append(syntax, file)
	}
	config := types.Config{Importer: p.compiled, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	_, err := config.Check(one.ImportPath, p.files, syntax, nil)
	return err
}
