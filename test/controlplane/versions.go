package controlplane

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/semver"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

const (
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
	root, err := source.Root()
	if err != nil {
		return recipe{}, err
	}
	r := recipe{
		dir:         filepath.Join(root, "test", "controlplane", "build"),
		downloadDir: filepath.Join(root, "test", "controlplane", "download"),
	}
	goMod := filepath.Join(r.dir, "go.mod")
	digest, err := source.Digest(goMod, filepath.Join(r.dir, "go.sum"), filepath.Join(r.dir, "etcd", "main.go"))
	if err != nil {
		return recipe{}, err
	}
	if r.kubernetes, err = source.Pinned(goMod, kubernetesPath); err != nil {
		return recipe{}, err
	}
	if r.etcd, err = source.Pinned(goMod, etcdPath); err != nil {
		return recipe{}, err
	}
	r.key = fmt.Sprintf("kubernetes-%s_etcd-%s_%s-%s_%s", r.kubernetes, r.etcd, runtime.GOOS, runtime.GOARCH, digest)
	return r, nil
}

// programs are the recipes for the programs of these names.
func (r *recipe) programs(names []string) []source.Program {
	var programs []source.Program
	for _, name := range names {
		program := source.Program{
			Name: name, Version: r.kubernetes, Dir: r.dir, Package: kubernetesPath + "/cmd/" + name,
			LinkerFlags: versionFlags(r.kubernetes),
			Otherwise:   fmt.Sprintf("set %s to a directory with %s", assetsVariable, strings.Join(names, ", ")),
		}
		if name == etcdBinary {
			program.Version, program.Package = r.etcd, "./etcd"
		}
		programs = append(programs, program)
	}
	return programs
}

// versionFlags tell a program its version: the API server reports it and derives its feature gates from it.
func versionFlags(version string) string {
	majorMinor := strings.TrimPrefix(semver.MajorMinor(version), "v")
	major, minor, _ := strings.Cut(majorMinor, ".")
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			"-X", pkg+".gitVersion="+version,
			"-X", pkg+".gitMajor="+major,
			"-X", pkg+".gitMinor="+minor,
			"-X", pkg+".gitTreeState=clean")
	}
	return strings.Join(flags, " ")
}
