// Package source builds programs from Go modules and keeps them in the user's cache directory, so that a machine with Go
// and a module proxy can run what no distribution packages in the version wanted.
//
// One process at a time writes to a cache directory, the others wait for it. A program appears there complete or not at
// all; an interrupted build loses only the program in work.
package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// modulePath is the operator's own module.
const modulePath = "git.ryuvia.com/niklas/terdut-operator"

// partialPrefix marks files that a build has not finished.
const partialPrefix = ".partial-"

// Root walks up from the working directory to the operator's own go.mod. Nested modules on the way are passed.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find source tree: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, readErr := os.ReadFile(filepath.Join(dir, "go.mod"))
		if readErr == nil && modfile.ModulePath(content) == modulePath {
			return dir, nil
		}
		if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
			return "", fmt.Errorf("find source tree: %w", readErr)
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find source tree: %s is not inside the sources of %s; start from there", start, modulePath)
		}
	}
}

// CacheDir is where the programs of one kind are kept. It honours XDG_CACHE_HOME.
func CacheDir(kind string) (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(user, "terdut-operator", kind), nil
}

// Digest is a short digest of the named files, for a cache key: what a build reads decides whether its result is still the
// right one.
func Digest(files ...string) (string, error) {
	digest := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read build recipe: %w", err)
		}
		digest.Write(content)
	}
	return fmt.Sprintf("%.8x", digest.Sum(nil)[:4]), nil
}

// Search adds to found the programs that dir has of names, with absolute paths, and returns the other names.
func Search(dir string, names []string, found map[string]string) []string {
	var missing []string
	for _, name := range names {
		path, err := filepath.Abs(filepath.Join(dir, name))
		if err == nil {
			var info fs.FileInfo
			info, err = os.Stat(path)
			if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
				found[name] = path
				continue
			}
		}
		missing = append(missing, name)
	}
	return missing
}

// Ensure adds to found those of the programs that it lacks: from the directory key in cache, or else built into that
// directory. before, which may be nil, gets its chance to put programs there in another way; it is called with the names
// that are missing, under the cache's lock.
func Ensure(ctx context.Context, cache, key string, programs []Program, found map[string]string, log io.Writer,
	before func(missing []string),
) error {
	dir := filepath.Join(cache, key)
	if len(lacking(dir, programs, found)) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make cache directory: %w", err)
	}
	unlock, err := Lock(ctx, filepath.Join(cache, "lock"), log)
	if err != nil {
		return err
	}
	defer unlock()
	// Whoever held the lock before may have made them.
	missing := lacking(dir, programs, found)
	if len(missing) == 0 {
		return nil
	}
	if err = sweep(dir); err != nil {
		return err
	}
	if before != nil {
		before(names(missing))
		missing = lacking(dir, programs, found)
	}
	for _, program := range missing {
		path, buildErr := program.build(ctx, dir, log)
		if buildErr != nil {
			return buildErr
		}
		found[program.Name] = path
	}
	return nil
}

// lacking are the programs that neither found nor dir has.
func lacking(dir string, programs []Program, found map[string]string) []Program {
	var missing []Program
	for _, program := range programs {
		if found[program.Name] == "" && len(Search(dir, []string{program.Name}, found)) > 0 {
			missing = append(missing, program)
		}
	}
	return missing
}

func names(programs []Program) []string {
	out := make([]string, 0, len(programs))
	for _, program := range programs {
		out = append(out, program.Name)
	}
	return out
}

// Copy copies the program from to dir/name; it appears there complete or not at all.
func Copy(from, dir, name string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	partial := filepath.Join(dir, partialPrefix+name)
	target, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	if _, err = io.Copy(target, source); err != nil {
		return errors.Join(fmt.Errorf("copy %s: %w", name, err), target.Close())
	}
	if err = target.Close(); err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	if err = os.Rename(partial, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	return nil
}

// sweep removes what an interrupted build left behind. The caller holds the lock.
func sweep(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, partialPrefix+"*"))
	if err != nil {
		return fmt.Errorf("sweep cache directory: %w", err)
	}
	var failed error
	for _, path := range left {
		failed = errors.Join(failed, os.Remove(path))
	}
	return failed
}
