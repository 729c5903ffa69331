package node

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheMachineIsAskedFirst(t *testing.T) {
	complete := func(program string) (string, error) { return "/usr/bin/" + program, nil }
	for name, test := range map[string]struct {
		machine machine
		want    string
	}{
		"another system": {machine{"darwin", 0, complete}, "start node: it takes Linux, and this is darwin"},
		"not root":       {machine{"linux", 1000, complete}, "start node: it takes root"},
		"no nftables": {machine{"linux", 0, func(program string) (string, error) {
			if program == "nft" {
				return "", errors.New("not found")
			}
			return complete(program)
		}}, "start node: no program nft in PATH: install the package nftables"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(test.machine.check()).To(MatchError(HavePrefix(test.want)))
		})
	}
	NewWithT(t).Expect(machine{"linux", 0, complete}.check()).To(Succeed())
}

func TestSpaceIsCheckedWhereTheDirectoryWillBe(t *testing.T) {
	g := NewWithT(t)
	existing := t.TempDir()
	dir := filepath.Join(existing, "not", "yet")
	g.Expect(checkSpace(dir, 1, "it")).To(Succeed())
	g.Expect(checkSpace(dir, math.MaxUint64, "the node")).To(MatchError(MatchRegexp(
		`^the node needs \d+\.\d GiB in ` + existing + `, and \d+\.\d GiB are free: make room, or choose another directory$`)))
	g.Expect(dir).NotTo(BeADirectory())
}

func TestAForeignDirectoryIsNotTouched(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600)).To(Succeed())
	_, err := occupy(t.Context(), dir, &strings.Builder{})
	g.Expect(err).To(MatchError(dir + " has files in it and is no node's directory: choose another one"))
	g.Expect(Clear(t.Context(), Options{Dir: dir})).NotTo(Succeed())
	entries, err := os.ReadDir(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(1))
}

func TestLeftoversAreCleared(t *testing.T) {
	for name, content := range map[string]string{
		"of a process that is gone": `{"Init":{"PID":2147483646,"Start":"1"}}`,
		// Process IDs are given out again: what has this one now was started at another time.
		"of a process whose ID another one has": `{"Init":{"PID":` + strings.Fields(selfStat(t))[0] + `,"Start":"1"}}`,
		"half written":                          `{"Init":{"PI`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := filepath.Join(t.TempDir(), "node")
			g.Expect(os.MkdirAll(filepath.Join(dir, "etcd"), 0o755)).To(Succeed())
			for file, text := range map[string]string{lockName: "", stateName: content, "etcd/data": "old"} {
				g.Expect(os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600)).To(Succeed())
			}
			var log strings.Builder
			release, err := occupy(t.Context(), dir, &log)
			g.Expect(err).NotTo(HaveOccurred())
			defer release()
			g.Expect(log.String()).To(Equal("node: clearing what a killed run left in " + dir + "\n"))
			_, err = os.Stat(filepath.Join(dir, "etcd"))
			g.Expect(err).To(MatchError(fs.ErrNotExist))

			_, err = occupy(t.Context(), dir, &log)
			g.Expect(err).To(MatchError(ContainSubstring(dir + " belongs to a node that runs")))
		})
	}
}

func selfStat(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip("there is no /proc")
	}
	return string(content)
}

// A machine without a module proxy, and with nothing in its cache.
func TestAMissingModuleProxyIsOneLine(t *testing.T) {
	g := NewWithT(t)
	// What was compiled is no module; without it the standard library would be compiled here.
	compiled, err := exec.Command("go", "env", "GOCACHE").Output()
	g.Expect(err).NotTo(HaveOccurred())
	t.Setenv("GOCACHE", strings.TrimSpace(string(compiled)))
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("GOMODCACHE", filepath.Join(cache, "modules"))
	t.Setenv("GOPROXY", "off")
	_, err = Build(t.Context(), nil)
	g.Expect(err).To(MatchError(MatchRegexp(`^build runc v[0-9.]+: the module proxy does not serve what it needs; set GOPROXY to one that does: [^\n]+$`)))
	g.Expect(filepath.Glob(filepath.Join(cache, "terdut-operator", "node", "*", ".partial-*"))).To(BeEmpty())
}
