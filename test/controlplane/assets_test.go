package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// install writes an empty program.
func install(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBinariesComeFromTheFirstPlaceThatHasThem(t *testing.T) {
	g := NewWithT(t)
	r, err := findRecipe()
	g.Expect(err).NotTo(HaveOccurred())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	cache, err := cacheDir()
	g.Expect(err).NotTo(HaveOccurred())
	cached := filepath.Join(cache, r.key)
	g.Expect(os.MkdirAll(cached, 0o755)).To(Succeed())
	install(t, cached, binaries...)
	given := t.TempDir()
	install(t, given, etcdBinary, apiServerBinary)
	t.Setenv(assetsVariable, given)

	var log strings.Builder
	found, err := Binaries(context.Background(), &log)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(Equal(Assets{
		Etcd:                  filepath.Join(given, etcdBinary),
		KubeAPIServer:         filepath.Join(given, apiServerBinary),
		KubeControllerManager: filepath.Join(cached, controllerManagerBinary),
		Kubectl:               filepath.Join(cached, kubectlBinary),
		Version:               r.kubernetes,
	}))
	g.Expect(log.String()).To(Equal(fmt.Sprintf(
		"controlplane: KUBEBUILDER_ASSETS=%s has no kube-controller-manager, kubectl: looking elsewhere for that\n", given)))
}

func TestSearchTakesProgramsOnly(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(dir, etcdBinary), nil, 0o644)).To(Succeed())
	g.Expect(os.Mkdir(filepath.Join(dir, kubectlBinary), 0o755)).To(Succeed())
	found := map[string]string{}
	g.Expect(search(dir, binaries, found)).To(Equal(binaries))
	g.Expect(found).To(BeEmpty())
}

func TestLockWaitsAndGivesUp(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(context.Background(), path, &strings.Builder{})
	g.Expect(err).NotTo(HaveOccurred())

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var log strings.Builder
	_, err = lockFile(ctx, path, &log)
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(log.String()).To(ContainSubstring("another process prepares the binaries"))

	unlock()
	unlock, err = lockFile(context.Background(), path, &log)
	g.Expect(err).NotTo(HaveOccurred())
	unlock()
}

func TestBuildErrorSaysWhatToDo(t *testing.T) {
	failed := errors.New("exit status 1")
	for output, want := range map[string]string{
		"go: k8s.io/kubernetes@v1.37.2: Get \"https://proxy.example.com\": dial tcp: lookup proxy.example.com: no such host\n": "set GOPROXY",
		"write /tmp/x: no space left on device\n":  "no space left on device: 4 GB are needed",
		"# k8s.io/kubernetes\nx.go:1: undefined\n": "x.go:1: undefined",
		"": "exit status 1",
	} {
		t.Run(want, func(t *testing.T) {
			g := NewWithT(t)
			err := buildError(context.Background(), etcdBinary, "v3.7.0", output, failed)
			g.Expect(err.Error()).To(HavePrefix("build etcd v3.7.0: "))
			g.Expect(err.Error()).To(ContainSubstring(want))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
		})
	}
}

func TestExplainNamesTheCause(t *testing.T) {
	g := NewWithT(t)
	plane := &ControlPlane{logDir: t.TempDir()}
	ended := errors.New("start kube-apiserver: it ended")
	g.Expect(plane.explain(ended, etcdBinary)).To(Equal(ended), "no log, no more to say")
	g.Expect(os.WriteFile(plane.logFile(etcdBinary), []byte("first\nno such flag\n"), 0o600)).To(Succeed())
	g.Expect(plane.explain(ended, etcdBinary)).To(MatchError("start kube-apiserver: it ended; last line of etcd: no such flag"))
	g.Expect(os.WriteFile(plane.logFile(etcdBinary), []byte("listen tcp: bind: address already in use\n"), 0o600)).To(Succeed())
	g.Expect(plane.explain(ended, etcdBinary)).To(MatchError(errPortInUse))
}
