package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variable of the environment that names the seed which is at work.
const variable = "SEED"

// field is the source of the operator with all seeds in it, by path: each
// function that one of them changes has its body once more for that seed, before
// its own. So the campaign is built once for all of them, and the environment
// says which one is at work.
func field(root string, seeds []seed) (map[string][]byte, error) {
	byFile := map[string][]seed{}
	for _, s := range seeds {
		byFile[s.File] = append(byFile[s.File], s)
	}
	out := map[string][]byte{}
	for file, sown := range byFile {
		path := filepath.Join(root, filepath.FromSlash(file))
		content, err := os.ReadFile(path) //nolint:gosec // the path is one of our source tree
		if err != nil {
			return nil, fmt.Errorf("sow %q: %w", sown[0].Name, err)
		}
		text, name, err := sow(string(content), sown)
		if err != nil {
			return nil, err
		}
		out[path] = []byte(text)
		out[filepath.Join(filepath.Dir(path), "zz_seeds.go")] = []byte(
			"package " + name + "\n\nimport \"os\"\n\nfunc seedAtWork() string { return os.Getenv(\"" + variable + "\") }\n")
	}
	return out, nil
}

// sow puts seeds into a file and returns it, with the name of its package.
func sow(content string, seeds []seed) (text, name string, err error) {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, "", content, parser.SkipObjectResolution)
	if err != nil {
		return "", "", err
	}
	type body struct {
		at   int
		text string
	}
	var bodies []body
	for i := range seeds {
		s := &seeds[i]
		if n := strings.Count(content, s.Old); n != 1 {
			return "", "", fmt.Errorf("sow %q: what it replaces stands %d times in %s, and has to stand there once: "+
				"the product has changed there, so write the seed anew", s.Name, n, s.File)
		}
		begin := strings.Index(content, s.Old)
		end := begin + len(s.Old)
		function := around(positions, file, begin, end)
		if function == nil {
			return "", "", fmt.Errorf("sow %q: what it replaces is not inside of one function", s.Name)
		}
		first, last := positions.Position(function.Body.Lbrace).Offset+1, positions.Position(function.Body.Rbrace).Offset
		back := ""
		if function.Type.Results == nil {
			back = "\treturn\n"
		}
		bodies = append(bodies, body{at: first, text: fmt.Sprintf("\n\tif seedAtWork() == %q {%s%s\t}\n",
			s.Name, content[first:begin]+s.New+content[end:last], back)})
	}
	slices.SortStableFunc(bodies, func(a, b body) int { return b.at - a.at })
	for _, b := range bodies {
		content = content[:b.at] + b.text + content[b.at:]
	}
	return content, file.Name.Name, nil
}

// around is the function whose body holds a part of a file.
func around(positions *token.FileSet, file *ast.File, begin, end int) *ast.FuncDecl {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Body != nil && positions.Position(f.Body.Lbrace).Offset < begin && end <= positions.Position(f.Body.Rbrace).Offset {
			return f
		}
	}
	return nil
}
