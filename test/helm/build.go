package helm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
	"golang.org/x/sys/unix"
)

// sign is how often a build shows that it lives.
const sign = 15 * time.Second

// Path is the helm command of that major, [V3] or [V4]. The first call on a
// machine builds it, which takes minutes and is told on standard error; others,
// in this process or another, wait for that one. The error says what to do.
func Path(ctx context.Context, version string) (string, error) {
	if !slices.Contains(Versions(), version) {
		return "", fmt.Errorf("find helm %q: choose one of %s", version, strings.Join(Versions(), ", "))
	}
	r, err := findRecipe(version)
	if err != nil {
		return "", err
	}
	if executable(r.binary) {
		return r.binary, nil
	}
	if err := os.MkdirAll(filepath.Dir(r.binary), 0o755); err != nil {
		return "", fmt.Errorf("make helm's cache directory: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(filepath.Dir(r.binary), "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if executable(r.binary) { // made by whoever held the lock
		return r.binary, nil
	}
	return r.binary, r.build(ctx, os.Stderr)
}

// recipe is what one helm is built from.
type recipe struct {
	// dir is the module that pins it, pkg the program in it.
	dir, pkg string
	// version is helm's, kubernetes that of the client-go in it.
	version, kubernetes string
	// binary is the path of the program. It changes with all that the build
	// reads.
	binary string
}

func findRecipe(major string) (recipe, error) {
	_, file, _, _ := runtime.Caller(0)
	r := recipe{
		dir: filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(file))), "hack", "helm", major),
		pkg: "helm.sh/helm/" + major + "/cmd/helm",
	}
	digest := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return recipe{}, fmt.Errorf("read what helm is built from: %w", err)
		}
		digest.Write(content)
		if name == "go.mod" {
			if err := r.readVersions(content); err != nil {
				return recipe{}, err
			}
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return recipe{}, fmt.Errorf("find a cache directory for helm (set HOME or XDG_CACHE_HOME): %w", err)
	}
	key := fmt.Sprintf("helm-%s_%s-%s_%.8x", r.version, runtime.GOOS, runtime.GOARCH, digest.Sum(nil)[:4])
	r.binary = filepath.Join(cache, "terdut-operator", "helm", key, "helm")
	return r, nil
}

func (r *recipe) readVersions(content []byte) error {
	path := filepath.Join(r.dir, "go.mod")
	file, err := modfile.Parse(path, content, nil)
	if err != nil {
		return fmt.Errorf("read what helm is built from: %w", err)
	}
	for _, require := range file.Require {
		switch require.Mod.Path {
		case strings.TrimSuffix(r.pkg, "/cmd/helm"):
			r.version = require.Mod.Version
		case "k8s.io/client-go":
			r.kubernetes = require.Mod.Version
		}
	}
	if r.version == "" || r.kubernetes == "" {
		return fmt.Errorf("%s requires no helm or no k8s.io/client-go: run go mod tidy there", path)
	}
	return nil
}

// build compiles into a file beside the binary and renames it, so that nobody
// ever finds half of one.
func (r recipe) build(ctx context.Context, log io.Writer) error {
	partial := r.binary + ".partial"
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-ldflags", r.linkerFlags(), "-o", partial, r.pkg)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output

	begin := time.Now()
	tell := func(end string) {
		_, _ = fmt.Fprintf(log, "helm: building %s from source ... %d s%s\n", r.version, int(time.Since(begin).Seconds()), end)
	}
	tell("")
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build helm %s (is Go in PATH?): %w", r.version, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(sign)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			tell("")
			continue
		case err := <-ended:
			if err != nil {
				tell(", failed")
				return fmt.Errorf("build helm %s (GOPROXY must name a module proxy that serves it): %w: %s",
					r.version, err, strings.TrimSpace(output.String()))
			}
		}
		break
	}
	tell(", done")
	if err := os.Rename(partial, r.binary); err != nil {
		return fmt.Errorf("build helm %s: %w", r.version, err)
	}
	return nil
}

// linkerFlags are those of helm's own releases. Helm 3 takes the version of
// Kubernetes that it renders for from them, Helm 4 from its list of modules.
func (r recipe) linkerFlags() string {
	module := strings.TrimSuffix(r.pkg, "/cmd/helm")
	flags := []string{"-s", "-w", "-X", module + "/internal/version.version=" + r.version}
	if semver.Major(r.version) != V3 {
		return strings.Join(flags, " ")
	}
	// client-go's v0.35 is Kubernetes 1.35.
	_, minor, _ := strings.Cut(semver.MajorMinor(r.kubernetes), ".")
	for _, pkg := range []string{"pkg/chartutil", "pkg/lint/rules"} {
		flags = append(flags,
			"-X", module+"/"+pkg+".k8sVersionMajor="+strconv.Itoa(1),
			"-X", module+"/"+pkg+".k8sVersionMinor="+minor)
	}
	return strings.Join(flags, " ")
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// lock waits for an exclusive lock on a file. The kernel takes it back when its
// holder dies, so the file may stay.
func lock(ctx context.Context, path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open helm's lock: %w", err)
	}
	release := func() { _ = file.Close() }
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return release, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			release()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			release()
			return nil, fmt.Errorf("wait for another process that builds helm: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// said is what a command wrote to standard error.
func said(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strings.TrimSpace(string(exit.Stderr))
	}
	return ""
}
