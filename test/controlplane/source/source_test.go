package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSearchTakesProgramsOnly(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(dir, "etcd"), nil, 0o644)).To(Succeed())
	g.Expect(os.Mkdir(filepath.Join(dir, "kubectl"), 0o755)).To(Succeed())
	found := map[string]string{}
	g.Expect(Search(dir, []string{"etcd", "kubectl"}, found)).To(Equal([]string{"etcd", "kubectl"}))
	g.Expect(found).To(BeEmpty())
}

func TestLockWaitsAndGivesUp(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(context.Background(), path, &strings.Builder{})
	g.Expect(err).NotTo(HaveOccurred())

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var log strings.Builder
	_, err = Lock(ctx, path, &log)
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(log.String()).To(ContainSubstring("another process prepares the programs"))

	unlock()
	unlock, err = Lock(context.Background(), path, &log)
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
			err := Program{Name: "etcd", Version: "v3.7.0"}.explain(context.Background(), output, failed)
			g.Expect(err.Error()).To(HavePrefix("build etcd v3.7.0: "))
			g.Expect(err.Error()).To(ContainSubstring(want))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
		})
	}
}
