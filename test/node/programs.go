package node

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

// Programs are absolute paths of what a node consists of. All lie in the user's cache directory.
type Programs struct {
	controlplane.Assets
	controlplane.NodeAssets
	// Containerd, Shim, Runc and Ctr are the container runtime.
	Containerd, Shim, Runc, Ctr string
	// CNI are the network plugins by name.
	CNI map[string]string
	// CoreDNS and Pause go into images.
	CoreDNS, Pause string
}

// The programs that are not part of Kubernetes.
const (
	containerdBinary = "containerd"
	shimBinary       = "containerd-shim-runc-v2"
	ctrBinary        = "ctr"
	runcBinary       = "runc"
	coreDNSBinary    = "coredns"
	pauseBinary      = "pause"
)

// cniPlugins are the network plugins, with their place in the module.
var cniPlugins = map[string]string{
	"bridge": "main/bridge", "host-local": "ipam/host-local", "loopback": "main/loopback", "portmap": "meta/portmap",
}

// Build finds the programs of the node and makes those that are missing: those of Kubernetes as
// [controlplane.Binaries] and [controlplane.NodeBinaries] do, the others in the user's cache directory or from source
// through Go modules. Progress goes to log, which may be nil. One process at a time builds, the others wait for it. The
// error says in one line what to do.
func Build(ctx context.Context, log io.Writer) (Programs, error) {
	if log == nil {
		log = io.Discard
	}
	recipes, key, err := recipes()
	if err != nil {
		return Programs{}, err
	}
	cache, err := source.CacheDir("node")
	if err != nil {
		return Programs{}, err
	}
	found := map[string]string{}
	if err = checkBuildSpace(cache, key, recipes); err != nil {
		return Programs{}, err
	}
	if err = source.Ensure(ctx, cache, key, recipes, found, log, nil); err != nil {
		return Programs{}, err
	}
	p := Programs{
		Containerd: found[containerdBinary], Shim: found[shimBinary], Runc: found[runcBinary], Ctr: found[ctrBinary],
		CoreDNS: found[coreDNSBinary], Pause: found[pauseBinary], CNI: map[string]string{},
	}
	for name := range cniPlugins {
		p.CNI[name] = found[name]
	}
	if p.Assets, err = controlplane.Binaries(ctx, log); err != nil {
		return Programs{}, err
	}
	if p.NodeAssets, err = controlplane.NodeBinaries(ctx, log); err != nil {
		return Programs{}, err
	}
	return p, nil
}

// recipes say how the programs that are not part of Kubernetes are built, and the key of all of them in the cache. What is
// small comes first, so that a missing module proxy shows early.
func recipes() ([]source.Program, string, error) {
	root, err := source.Root()
	if err != nil {
		return nil, "", err
	}
	build := filepath.Join(root, "test", "node", "build")
	read := []string{
		filepath.Join(root, "test", "node", "pause", "main.go"), filepath.Join(build, "coredns", "main.go"),
	}
	versions := map[string]string{}
	for dir, module := range map[string]string{
		"cni":        "github.com/containernetworking/plugins",
		"runc":       "github.com/opencontainers/runc",
		"containerd": "github.com/containerd/containerd/v2",
		"coredns":    "github.com/coredns/coredns",
	} {
		if versions[dir], err = source.Pinned(filepath.Join(build, dir, "go.mod"), module); err != nil {
			return nil, "", err
		}
	}
	for _, dir := range []string{"cni", "containerd", "coredns", "runc"} {
		read = append(read, filepath.Join(build, dir, "go.mod"), filepath.Join(build, dir, "go.sum"))
	}
	digest, err := source.Digest(read...)
	if err != nil {
		return nil, "", err
	}
	key := fmt.Sprintf("containerd-%s_runc-%s_%s-%s_%s", versions["containerd"], versions["runc"], runtime.GOOS, runtime.GOARCH, digest)

	programs := []source.Program{
		{Name: pauseBinary, Dir: root, Package: "./test/node/pause"},
		{
			Name: runcBinary, Version: versions["runc"], Dir: filepath.Join(build, "runc"),
			Package: "github.com/opencontainers/runc", Tags: "seccomp", Cgo: true,
			LinkerFlags: "-X main.version=" + strings.TrimPrefix(versions["runc"], "v"),
			Needs:       "gcc, pkg-config and libseccomp-dev",
		},
	}
	for _, name := range []string{"bridge", "host-local", "loopback", "portmap"} {
		programs = append(programs, source.Program{
			Name: name, Version: versions["cni"], Dir: filepath.Join(build, "cni"),
			Package: "github.com/containernetworking/plugins/plugins/" + cniPlugins[name],
		})
	}
	for _, name := range []string{ctrBinary, shimBinary, containerdBinary} {
		programs = append(programs, source.Program{
			Name: name, Version: versions["containerd"], Dir: filepath.Join(build, "containerd"),
			Package:     "github.com/containerd/containerd/v2/cmd/" + name,
			LinkerFlags: "-X github.com/containerd/containerd/v2/version.Version=" + versions["containerd"],
			// Snapshotters for file systems that the tests do not use, and that take C libraries.
			Tags: "no_btrfs,no_devmapper,no_zfs,no_aufs",
		})
	}
	return append(programs, source.Program{
		Name: coreDNSBinary, Version: versions["coredns"], Dir: filepath.Join(build, "coredns"), Package: ".",
	}), key, nil
}
