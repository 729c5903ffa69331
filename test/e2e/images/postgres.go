package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
	"git.ryuvia.com/niklas/terdut-operator/test/postgres"
)

// PostgreSQL makes an image of this machine's PostgreSQL: its programs, and the libraries that they are linked with. The
// archive goes into dir. In the image, initdb and postgres are in the directory bin, and there is a /bin/sh. Where PostgreSQL
// is not installed the error says what to do.
func PostgreSQL(ctx context.Context, dir string, log io.Writer) (_ Image, bin string, _ error) {
	root, err := source.Root()
	if err != nil {
		return Image{}, "", err
	}
	initdb, server, err := postgres.Programs()
	if err != nil {
		return Image{}, "", err
	}
	files, err := postgresFiles(ctx, initdb, server)
	if err != nil {
		return Image{}, "", err
	}
	bin = filepath.Dir(server)
	image := Image{
		Short: "postgres", Name: "terdut-e2e.local/postgres:local", Archive: filepath.Join(dir, "postgres.tar"),
	}
	args := []string{"pack", "-out", image.Archive, "-name", image.Name, "-platform", Local(),
		"-entrypoint", filepath.Join(bin, "postgres")}
	for _, file := range files {
		args = append(args, "-add", file)
	}
	return image, bin, tool(ctx, root, log, args...)
}

// postgresFiles are the files of the image, as <from>=<to>.
func postgresFiles(ctx context.Context, initdb, server string) ([]string, error) {
	share, libraries, err := directories(server)
	if err != nil {
		return nil, err
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		return nil, fmt.Errorf("find a shell for the image of PostgreSQL: %w", err)
	}
	// The server looks for its other files at their places relative to its own, so all stay where they are.
	files := []string{shell + "=/bin/sh", share + "=" + share, server + "=" + server, initdb + "=" + initdb}
	linked := []string{shell, server, initdb}
	plugins, err := filepath.Glob(filepath.Join(libraries, "*.so"))
	if err != nil {
		return nil, fmt.Errorf("find the libraries of PostgreSQL: %w", err)
	}
	for _, plugin := range plugins {
		// Compiling queries is not wanted, and takes 40 MB of compiler.
		if strings.HasPrefix(filepath.Base(plugin), "llvmjit") {
			continue
		}
		files = append(files, plugin+"="+plugin)
		switch filepath.Base(plugin) {
		case "plpgsql.so", "dict_snowball.so": // initdb loads them
			linked = append(linked, plugin)
		}
	}
	shared, err := sharedObjects(ctx, linked)
	if err != nil {
		return nil, err
	}
	for _, zone := range []string{"UTC", "GMT"} {
		if path := filepath.Join("/usr/share/zoneinfo", zone); exists(path) {
			files = append(files, path+"="+path)
		}
	}
	return append(files, shared...), nil
}

// directories are those of PostgreSQL's data files and of its plugins, as Debian has them: beside the programs or, for the
// first, in /usr/share.
func directories(server string) (share, libraries string, err error) {
	base := filepath.Dir(filepath.Dir(server)) // /usr/lib/postgresql/15
	share = filepath.Join("/usr/share/postgresql", filepath.Base(base))
	libraries = filepath.Join(base, "lib")
	if !exists(filepath.Join(share, "postgres.bki")) || !exists(filepath.Join(libraries, "plpgsql.so")) {
		return "", "", fmt.Errorf("the PostgreSQL of %s is not laid out as Debian's packages are: install the package postgresql", server)
	}
	return share, libraries, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sharedObjects are the libraries that programs are linked with, the loader included, as <from>=<to>.
func sharedObjects(ctx context.Context, programs []string) ([]string, error) {
	seen := map[string]bool{}
	var files []string
	for _, program := range programs {
		var complaint bytes.Buffer
		cmd := exec.CommandContext(ctx, "ldd", program)
		cmd.Stderr = &complaint
		output, err := cmd.Output()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("list the libraries of %s: %w", program, err), errors.New(complaint.String()))
		}
		for _, path := range libraryPaths(string(output)) {
			if !seen[path] {
				seen[path] = true
				files = append(files, path+"="+path)
			}
		}
	}
	return files, nil
}

// libraryPaths reads what ldd prints: `name => /path (address)`, or `/path (address)` for the loader.
func libraryPaths(output string) []string {
	var paths []string
	for line := range strings.Lines(output) {
		if _, after, ok := strings.Cut(line, "=>"); ok {
			line = after
		}
		fields := strings.Fields(line)
		if len(fields) > 0 && filepath.IsAbs(fields[0]) {
			paths = append(paths, fields[0])
		}
	}
	return paths
}
