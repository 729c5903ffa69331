package controlplane

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/mod/modfile"
)

const (
	modulePath     = "git.ryuvia.com/niklas/terdut-operator"
	kubernetesPath = "k8s.io/kubernetes"
	etcdPath       = "go.etcd.io/etcd/server/v3"
)

// recipe says what is built: the nested module is the only place where the versions stand.
type recipe struct {
	// dir is the directory of the nested module that the binaries are built from.
	dir string
	// downloadDir is the directory of the nested module that pins setup-envtest.
	downloadDir string
	// kubernetes and etcd are versions with a leading v.
	kubernetes, etcd string
	// key names the cache directory: versions, platform, and a digest of all that the build reads.
	key string
}

func findRecipe() (recipe, error) {
	root, err := sourceRoot()
	if err != nil {
		return recipe{}, err
	}
	r := recipe{
		dir:         filepath.Join(root, "test", "controlplane", "build"),
		downloadDir: filepath.Join(root, "test", "controlplane", "download"),
	}
	digest := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", filepath.Join("etcd", "main.go")} {
		content, readErr := os.ReadFile(filepath.Join(r.dir, name))
		if readErr != nil {
			return recipe{}, fmt.Errorf("read build recipe: %w", readErr)
		}
		digest.Write(content)
		if name == "go.mod" {
			if err = r.readVersions(content); err != nil {
				return recipe{}, err
			}
		}
	}
	r.key = fmt.Sprintf("kubernetes-%s_etcd-%s_%s-%s_%.8x", r.kubernetes, r.etcd, runtime.GOOS, runtime.GOARCH, digest.Sum(nil)[:4])
	return r, nil
}

func (r *recipe) readVersions(goMod []byte) error {
	file, err := modfile.Parse(filepath.Join(r.dir, "go.mod"), goMod, nil)
	if err != nil {
		return fmt.Errorf("parse build recipe: %w", err)
	}
	for _, require := range file.Require {
		switch require.Mod.Path {
		case kubernetesPath:
			r.kubernetes = require.Mod.Version
		case etcdPath:
			r.etcd = require.Mod.Version
		}
	}
	if r.kubernetes == "" || r.etcd == "" {
		return fmt.Errorf("parse build recipe: %s requires no %s or no %s", filepath.Join(r.dir, "go.mod"), kubernetesPath, etcdPath)
	}
	return nil
}

// sourceRoot walks up from the working directory to the operator's own go.mod. Nested modules on the way are passed.
func sourceRoot() (string, error) {
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
