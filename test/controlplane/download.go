package controlplane

import (
	"bytes"
	"context"
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

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

const (
	// indexTimeout bounds the question whether the download can work at all: a network that says no must not cost minutes.
	indexTimeout = 5 * time.Second
	// downloadTimeout bounds the download of about 100 MB.
	downloadTimeout = 5 * time.Minute
)

// published tells whether envtest publishes a binary.
func published(name string) bool {
	return slices.Contains([]string{etcdBinary, apiServerBinary, kubectlBinary}, name)
}

// canDownload tells whether envtest publishes one of the missing binaries.
func canDownload(missing []string) bool { return slices.ContainsFunc(missing, published) }

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
		return fmt.Errorf("setup-envtest: %s", source.LastLine(stderr.String(), err))
	}
	dir := strings.TrimSpace(string(stdout))
	for _, name := range missing {
		if !published(name) {
			continue
		}
		if err := source.Copy(filepath.Join(dir, name), filepath.Join(cache, r.key), name); err != nil {
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
