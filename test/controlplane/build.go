package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/semver"
)

// packages are what go build is asked for.
var packages = map[string]string{
	etcdBinary:              "./etcd",
	apiServerBinary:         "k8s.io/kubernetes/cmd/kube-apiserver",
	controllerManagerBinary: "k8s.io/kubernetes/cmd/kube-controller-manager",
	kubectlBinary:           "k8s.io/kubernetes/cmd/kubectl",
}

// build compiles one program from source into dir and returns its path. Packages that two programs share are compiled
// once, by Go's build cache.
func build(ctx context.Context, r recipe, dir, name string, log io.Writer) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("build %s: no go command in PATH: install Go, or set %s to a directory with %s",
			name, assetsVariable, strings.Join(binaries, ", "))
	}
	version := r.kubernetes
	if name == etcdBinary {
		version = r.etcd
	}
	partial := filepath.Join(dir, partialPrefix+name)
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-ldflags", linkerFlags(r.kubernetes), "-o", partial, packages[name])
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output

	done := progress(log, fmt.Sprintf("building %s %s from source", name, version))
	err := cmd.Run()
	done(err)
	if err != nil {
		return "", buildError(ctx, name, version, output.String(), err)
	}
	path := filepath.Join(dir, name)
	if err := os.Rename(partial, path); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}

// linkerFlags strip the binary and tell it its version: the API server reports it and derives its feature gates from it.
func linkerFlags(version string) string {
	majorMinor := strings.TrimPrefix(semver.MajorMinor(version), "v")
	major, minor, _ := strings.Cut(majorMinor, ".")
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			"-X", pkg+".gitVersion="+version,
			"-X", pkg+".gitMajor="+major,
			"-X", pkg+".gitMinor="+minor,
			"-X", pkg+".gitTreeState=clean")
	}
	return strings.Join(flags, " ")
}

// buildError makes one line of what the go command wrote.
func buildError(ctx context.Context, name, version, output string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("build %s: %w", name, context.Cause(ctx))
	}
	line := lastLine(output, err)
	for _, sign := range []string{"dial tcp", "no such host", "404 Not Found", "410 Gone", "403 Forbidden", "i/o timeout", "module lookup disabled", "unrecognized import path"} {
		if strings.Contains(output, sign) {
			return fmt.Errorf("build %s %s: the module proxy does not serve what it needs; set GOPROXY to one that does, or %s to a directory with %s: %s",
				name, version, assetsVariable, strings.Join(binaries, ", "), line)
		}
	}
	if strings.Contains(output, "no space left on device") {
		return fmt.Errorf("build %s %s: no space left on device: 4 GB are needed in GOCACHE, GOMODCACHE and TMPDIR: %w", name, version, err)
	}
	return fmt.Errorf("build %s %s: %s", name, version, line)
}

// lastLine is the last line of output that is not empty, or else the text of err.
func lastLine(output string, err error) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if line := strings.TrimSpace(lines[len(lines)-1]); line != "" {
		return line
	}
	if err == nil {
		err = errors.New("no output")
	}
	return err.Error()
}
