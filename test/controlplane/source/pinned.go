package source

import (
	"fmt"
	"os"

	"golang.org/x/mod/modfile"
)

// Pinned is the version of a module that a go.mod file requires: the one that a
// program is built from.
func Pinned(goMod, module string) (string, error) {
	content, err := os.ReadFile(goMod)
	if err != nil {
		return "", fmt.Errorf("read build recipe: %w", err)
	}
	parsed, err := modfile.Parse(goMod, content, nil)
	if err != nil {
		return "", fmt.Errorf("parse build recipe: %w", err)
	}
	for _, require := range parsed.Require {
		if require.Mod.Path == module {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("parse build recipe: %s requires no %s: run go mod tidy there", goMod, module)
}
