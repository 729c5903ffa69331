// Package helm gives tests a real helm command, of the majors that people use.
//
// Each is built once from source, through the Go module proxy, and kept in the
// user's cache directory; a machine needs Go and nothing else. The modules
// hack/helm/v3 and hack/helm/v4 say which versions.
package helm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The majors that are tested, for [Path] and [New].
const (
	V3 = "v3"
	V4 = "v4"
)

// Versions are all majors, the oldest first.
func Versions() []string { return []string{V3, V4} }

// Helm is a helm command that sees one cluster and nothing of the user's own
// settings, repositories and plugins.
type Helm struct {
	// Version is V3 or V4.
	Version string
	// Binary is the path of the program.
	Binary string

	kubeconfig, home string
}

// New is the helm of that major, [V3] or [V4], for the cluster of the
// kubeconfig file, which may be empty for commands that need none. What helm
// keeps for itself goes into home, a directory of the caller's.
func New(ctx context.Context, version, kubeconfig, home string) (*Helm, error) {
	binary, err := Path(ctx, version)
	if err != nil {
		return nil, err
	}
	return &Helm{Version: version, Binary: binary, kubeconfig: kubeconfig, home: home}, nil
}

// Command is a helm command that was not started yet.
func (h *Helm) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.Binary, args...)
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+h.kubeconfig,
		"HELM_CACHE_HOME="+filepath.Join(h.home, "cache"),
		"HELM_CONFIG_HOME="+filepath.Join(h.home, "config"),
		"HELM_DATA_HOME="+filepath.Join(h.home, "data"),
		// Inherited ones would lead to another cluster or another namespace.
		"HELM_NAMESPACE=", "HELM_KUBECONTEXT=", "HELM_DRIVER=", "HELM_KUBETOKEN=", "HELM_KUBEAPISERVER=",
	)
	return cmd
}

// Run runs a helm command and returns what it writes to standard output. The
// error holds what it wrote to standard error.
func (h *Helm) Run(ctx context.Context, args ...string) (string, error) {
	cmd := h.Command(ctx, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return string(output), fmt.Errorf("helm %s %v: %w: %s", h.Version, args, err, strings.TrimSpace(stderr.String()))
	}
	return string(output), nil
}
