package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

var binaries = []string{etcdBinary, apiServerBinary, controllerManagerBinary, kubectlBinary}

// Assets are absolute paths of the programs that a control plane consists of.
type Assets struct {
	Etcd, KubeAPIServer, KubeControllerManager, Kubectl string
	// Version is the Kubernetes version that the sources pin, as in v1.37.2. Binaries from KUBEBUILDER_ASSETS may differ.
	Version string
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
	if log == nil {
		log = io.Discard
	}
	found := map[string]string{}
	if dir := os.Getenv(assetsVariable); dir != "" {
		if missing := search(dir, binaries, found); len(missing) > 0 {
			say(log, "%s=%s has no %s: looking elsewhere for that", assetsVariable, dir, strings.Join(missing, ", "))
		}
	}
	r, err := findRecipe()
	if err != nil {
		if len(found) == len(binaries) {
			return assets(found, ""), nil
		}
		return Assets{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return Assets{}, err
	}
	if missing := search(filepath.Join(cache, r.key), lacking(found), found); len(missing) > 0 {
		if err := prepare(ctx, r, cache, found, log); err != nil {
			return Assets{}, err
		}
	}
	return assets(found, r.kubernetes), nil
}

func assets(found map[string]string, version string) Assets {
	return Assets{
		Etcd:                  found[etcdBinary],
		KubeAPIServer:         found[apiServerBinary],
		KubeControllerManager: found[controllerManagerBinary],
		Kubectl:               found[kubectlBinary],
		Version:               version,
	}
}

// prepare downloads or builds what found lacks, under the lock.
func prepare(ctx context.Context, r recipe, cache string, found map[string]string, log io.Writer) error {
	dir := filepath.Join(cache, r.key)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make cache directory: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, "lock"), log)
	if err != nil {
		return err
	}
	defer unlock()
	// Whoever held the lock before may have made them.
	missing := search(dir, lacking(found), found)
	if len(missing) == 0 {
		return nil
	}
	if err := sweep(dir); err != nil {
		return err
	}
	if canDownload(missing) {
		if err := download(ctx, r, cache, missing, log); err != nil {
			say(log, "no download of envtest's binaries (%v): building from source", err)
		}
		missing = search(dir, missing, found)
	}
	for _, name := range missing {
		path, err := build(ctx, r, dir, name, log)
		if err != nil {
			return err
		}
		found[name] = path
	}
	return nil
}

func lacking(found map[string]string) []string {
	var names []string
	for _, name := range binaries {
		if found[name] == "" {
			names = append(names, name)
		}
	}
	return names
}

// search adds to found what dir has of names and returns the rest.
func search(dir string, names []string, found map[string]string) []string {
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

// partialPrefix marks files that a build has not finished.
const partialPrefix = ".partial-"

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

// cacheDir is where downloaded and built binaries are kept. It honours XDG_CACHE_HOME.
func cacheDir() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache directory (set HOME or XDG_CACHE_HOME, or %s): %w", assetsVariable, err)
	}
	return filepath.Join(user, "terdut-operator", "controlplane"), nil
}
