package controlplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

// assetsVariable is envtest's own variable: a directory that holds the binaries.
const assetsVariable = "KUBEBUILDER_ASSETS"

// The programs of a control plane, in the order in which they are built: what is small comes first, so that a missing
// module proxy shows early.
const (
	etcdBinary              = "etcd"
	apiServerBinary         = "kube-apiserver"
	controllerManagerBinary = "kube-controller-manager"
	kubectlBinary           = "kubectl"
)

// The programs that Kubernetes adds to these on a node.
const (
	schedulerBinary = "kube-scheduler"
	proxyBinary     = "kube-proxy"
	kubeletBinary   = "kubelet"
)

var (
	binaries     = []string{etcdBinary, apiServerBinary, controllerManagerBinary, kubectlBinary}
	nodeBinaries = []string{schedulerBinary, proxyBinary, kubeletBinary}
)

// Assets are absolute paths of the programs that a control plane consists of.
type Assets struct {
	Etcd, KubeAPIServer, KubeControllerManager, Kubectl string
	// Version is the Kubernetes version that the sources pin, as in v1.37.2. Binaries from KUBEBUILDER_ASSETS may differ.
	Version string
}

// NodeAssets are absolute paths of the programs of Kubernetes that a node runs besides a control plane. They are of the
// same version.
type NodeAssets struct {
	KubeScheduler, KubeProxy, Kubelet string
}

// Binaries finds the programs of the control plane and makes those that are missing. Each is taken from the first place
// that has it: the directory named by KUBEBUILDER_ASSETS; the user's cache directory, under a key of all that the build
// reads; envtest's download (which has no kube-controller-manager); a build from source through Go modules. What was
// downloaded or built is kept in the cache.
//
// One process at a time downloads and builds, the others wait for it. Progress goes to log, which may be nil; nothing is
// written when everything is at hand. Without KUBEBUILDER_ASSETS the working directory must be inside the source tree.
// The error says in one line what to do.
func Binaries(ctx context.Context, log io.Writer) (Assets, error) {
	found, version, err := ensure(ctx, binaries, log)
	if err != nil {
		return Assets{}, err
	}
	return Assets{
		Etcd:                  found[etcdBinary],
		KubeAPIServer:         found[apiServerBinary],
		KubeControllerManager: found[controllerManagerBinary],
		Kubectl:               found[kubectlBinary],
		Version:               version,
	}, nil
}

// NodeBinaries does for the programs of a node what [Binaries] does for those of the control plane. envtest publishes none
// of them.
func NodeBinaries(ctx context.Context, log io.Writer) (NodeAssets, error) {
	found, _, err := ensure(ctx, nodeBinaries, log)
	if err != nil {
		return NodeAssets{}, err
	}
	return NodeAssets{
		KubeScheduler: found[schedulerBinary],
		KubeProxy:     found[proxyBinary],
		Kubelet:       found[kubeletBinary],
	}, nil
}

// ensure finds or makes the programs of these names, and tells the version that the sources pin, if it had to look there.
func ensure(ctx context.Context, names []string, log io.Writer) (map[string]string, string, error) {
	if log == nil {
		log = io.Discard
	}
	found := map[string]string{}
	if dir := os.Getenv(assetsVariable); dir != "" {
		if missing := source.Search(dir, names, found); len(missing) > 0 {
			say(log, "%s=%s has no %s: looking elsewhere for that", assetsVariable, dir, strings.Join(missing, ", "))
		}
	}
	r, err := findRecipe()
	if err != nil {
		if len(found) == len(names) {
			return found, "", nil
		}
		return nil, "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, "", err
	}
	err = source.Ensure(ctx, cache, r.key, r.programs(names), found, log, func(missing []string) {
		if !canDownload(missing) {
			return
		}
		if failed := download(ctx, r, cache, missing, log); failed != nil {
			say(log, "no download of envtest's binaries (%v): building from source", failed)
		}
	})
	if err != nil {
		return nil, "", err
	}
	return found, r.kubernetes, nil
}

// cacheDir is where downloaded and built binaries are kept.
func cacheDir() (string, error) { return source.CacheDir("controlplane") }

// say writes one line to log. What is written there is for a reader who waits; a writer that fails changes nothing.
func say(log io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(log, "controlplane: "+format+"\n", args...)
}
