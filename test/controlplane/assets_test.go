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
