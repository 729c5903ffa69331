package helm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

// program is the name of the file that is built.
const program = "helm"

// Path is the helm command of that major, [V3] or [V4]. The first call on a
// machine builds it, which takes minutes and is told on standard error; others,
// in this process or another, wait for that one. The working directory must be
// inside the source tree. The error says what to do.
func Path(ctx context.Context, version string) (string, error) {
	if !slices.Contains(Versions(), version) {
		return "", fmt.Errorf("find helm %q: choose one of %s", version, strings.Join(Versions(), ", "))
	}
	r, err := findRecipe(version)
	if err != nil {
		return "", err
	}
	cache, err := source.CacheDir(program)
	if err != nil {
		return "", err
	}
	found := map[string]string{}
	if err := source.Ensure(ctx, cache, r.key, []source.Program{r.program()}, found, os.Stderr, nil); err != nil {
		return "", err
	}
	return found[program], nil
}

// recipe is what one helm is built from.
type recipe struct {
	// dir is the module that pins it, module helm's own.
	dir, module string
	// version is helm's, kubernetes that of the client-go in it.
	version, kubernetes string
	// key names the cache directory: it changes with all that the build reads.
	key string
}

func findRecipe(major string) (recipe, error) {
	root, err := source.Root()
	if err != nil {
		return recipe{}, err
	}
	r := recipe{dir: filepath.Join(root, "hack", "helm", major), module: "helm.sh/helm/" + major}
	goMod := filepath.Join(r.dir, "go.mod")
	digest, err := source.Digest(goMod, filepath.Join(r.dir, "go.sum"))
	if err != nil {
		return recipe{}, err
	}
	if r.version, err = source.Pinned(goMod, r.module); err != nil {
		return recipe{}, err
	}
	if r.kubernetes, err = source.Pinned(goMod, "k8s.io/client-go"); err != nil {
		return recipe{}, err
	}
	r.key = fmt.Sprintf("helm-%s_%s-%s_%s", r.version, runtime.GOOS, runtime.GOARCH, digest)
	return r, nil
}

func (r recipe) program() source.Program {
	return source.Program{
		Name: program, Version: r.version, Dir: r.dir, Package: r.module + "/cmd/helm", LinkerFlags: r.linkerFlags(),
	}
}

// linkerFlags are those of helm's own releases. Helm 3 takes the version of
// Kubernetes that it renders for from them, Helm 4 from its list of modules.
func (r recipe) linkerFlags() string {
	flags := []string{"-X", r.module + "/internal/version.version=" + r.version}
	if semver.Major(r.version) != V3 {
		return strings.Join(flags, " ")
	}
	// client-go's v0.35 is Kubernetes 1.35.
	_, minor, _ := strings.Cut(semver.MajorMinor(r.kubernetes), ".")
	for _, pkg := range []string{"pkg/chartutil", "pkg/lint/rules"} {
		flags = append(flags,
			"-X", r.module+"/"+pkg+".k8sVersionMajor=1",
			"-X", r.module+"/"+pkg+".k8sVersionMinor="+minor)
	}
	return strings.Join(flags, " ")
}
