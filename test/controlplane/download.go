package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	// indexTimeout bounds the question whether the download can work at all: a network that says no must not cost minutes.
	indexTimeout = 5 * time.Second
	// downloadTimeout bounds the download of about 100 MB.
	downloadTimeout = 5 * time.Minute
)

// canDownload tells whether envtest publishes one of the missing binaries.
func canDownload(missing []string) bool {
	return slices.ContainsFunc(missing, func(name string) bool { return name != controllerManagerBinary })
}

// download fetches etcd, kube-apiserver and kubectl with setup-envtest, which verifies their digests, and puts those that
// are missing into the cache.
func download(ctx context.Context, r recipe, cache string, missing []string, log io.Writer) error {
	if err := reachIndex(ctx); err != nil {
		return err
	}
	minor := strings.TrimPrefix(semver.MajorMinor(r.kubernetes), "v")
	say(log, "downloading etcd, kube-apiserver and kubectl %s", minor)
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "tool", "setup-envtest", "use", minor+".x!",
		"--print", "path", "--bin-dir", filepath.Join(cache, "envtest"))
	cmd.Dir = r.downloadDir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("setup-envtest: %s", lastLine(stderr.String(), err))
	}
	dir := strings.TrimSpace(string(stdout))
	for _, name := range missing {
		if name == controllerManagerBinary {
			continue
		}
		if err := copyProgram(filepath.Join(dir, name), filepath.Join(cache, r.key), name); err != nil {
			return err
		}
	}
	return nil
}

func reachIndex(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, envtest.DefaultBinaryAssetsIndexURL, nil)
	if err != nil {
		return fmt.Errorf("ask for envtest's index: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask for envtest's index: %w", err)
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("ask for envtest's index: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask for envtest's index: %s", response.Status)
	}
	return nil
}

// copyProgram copies from to dir/name; the file appears there complete or not at all.
func copyProgram(from, dir, name string) (err error) {
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
