// Package cluster gives the end-to-end suite a cluster: the one of the environment, else a node built from source, else
// one of kind.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
	"git.ryuvia.com/niklas/terdut-operator/test/node"
)

// Variables of the environment that name a cluster that is there already.
const (
	// KubeconfigVariable is the path of a kubeconfig with the access of an administrator.
	KubeconfigVariable = "E2E_KUBECONFIG"
	// LoadVariable is a shell command that loads an image into the cluster of KubeconfigVariable; $IMAGE is the archive,
	// an OCI layout as a tar. Without it the nodes must be able to pull what the suite uses.
	LoadVariable = "E2E_LOAD_IMAGE"
)

// ErrNotPossible is the answer of a cluster whose nodes the suite does not get at.
var ErrNotPossible = errors.New("the nodes of this cluster are not the suite's to touch")

// Cluster is where the suite runs.
type Cluster interface {
	// Name says in words what it is.
	Name() string
	// Kubeconfig is the path of a file with the access of an administrator.
	Kubeconfig() string
	// Kubectl is the path of a kubectl that fits.
	Kubectl() string
	// LoadImage makes the images of an archive known to the nodes.
	LoadImage(ctx context.Context, archive string) error
	// RestartAPIServer and RestartEtcd end a part of the control plane and start it again. They return when the API server
	// is ready, or with ErrNotPossible.
	RestartAPIServer(ctx context.Context) error
	RestartEtcd(ctx context.Context) error
	// KillContainer ends a container by SIGKILL, as a crash would, or returns ErrNotPossible. id is the container's ID
	// without its scheme.
	KillContainer(ctx context.Context, id string) error
	// Stop ends what the suite has started, and keeps its logs in the directory that Start was given.
	Stop(ctx context.Context) error
}

// Start finds or starts a cluster. Progress goes to log, and the cluster's own logs into the directory logs.
func Start(ctx context.Context, logs string, log io.Writer) (Cluster, error) {
	if path := os.Getenv(KubeconfigVariable); path != "" {
		return newGiven(path)
	}
	if runtime.GOOS == "linux" && os.Geteuid() == 0 {
		// A directory of its own lets a node of another suite run at the same time.
		dir := filepath.Join(os.TempDir(), "terdut-e2e-node")
		n, err := node.Start(ctx, node.Options{Log: log, Dir: dir, KeepLogs: filepath.Join(logs, "node")})
		if err != nil {
			return nil, err
		}
		return fromSource{n}, nil
	}
	for _, program := range []string{"kind", "docker", "kubectl"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("find a cluster: be root on Linux, or install kind and Docker, or set %s: %w", KubeconfigVariable, err)
		}
	}
	return newKind(ctx, log)
}

// fromSource is a node that this process has started.
type fromSource struct{ *node.Node }

func (fromSource) Name() string      { return "a node built from source" }
func (f fromSource) Kubectl() string { return f.Programs.Kubectl }

// run runs a command and shows in the error what it complained of.
func run(cmd *exec.Cmd) (string, error) {
	output, err := cmd.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, source.LastLine(string(output), err))
	}
	return string(output), nil
}
