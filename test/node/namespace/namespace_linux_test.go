package namespace_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/node/namespace"
)

// layout has an address from the range for documentation.
func layout(t *testing.T) namespace.Layout {
	t.Helper()
	return namespace.Layout{Dir: t.TempDir(), Address: "192.0.2.1/24", Services: "198.51.100.0/24"}
}

func start(t *testing.T, wanted namespace.Layout) (*namespace.Namespace, error) {
	t.Helper()
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("namespaces take root, and CI=true forbids skipping")
		}
		t.Skip("namespaces take root")
	}
	pause := filepath.Join(t.TempDir(), "pause")
	build := exec.Command("go", "build", "-o", pause, "../pause")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	n, err := namespace.New(context.Background(), pause, wanted)
	t.Cleanup(n.Kill)
	return n, err
}

func TestTheMachineIsOutOfReach(t *testing.T) {
	g := NewWithT(t)
	before := mounts(t)
	wanted := layout(t)
	n, err := start(t, wanted)
	g.Expect(err).NotTo(HaveOccurred())

	output, err := n.Command(t.Context(), "sh", "-c",
		`echo $$ >/dev/null; ls /; ls /proc | grep -c '^[0-9]'; touch /usr/x /lib/x 2>/dev/null || echo read-only; touch /node/mine; ip -o link | grep -c .`).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", output)
	words := strings.Fields(string(output))
	g.Expect(words).To(ContainElements("node", "proc", "sys", "read-only"))
	g.Expect(words).NotTo(ContainElements("home", "old"))
	g.Expect(words[len(words)-1]).To(Equal("2"), "loopback and the bridge")
	g.Expect(filepath.Join(wanted.Dir, "mine")).To(BeAnExistingFile())

	n.Kill()
	g.Expect(mounts(t)).To(Equal(before))
	g.Expect(os.RemoveAll(wanted.Dir)).To(Succeed(), "nothing is mounted there any more")
}

func TestSocketsCrossTheBorder(t *testing.T) {
	g := NewWithT(t)
	n, err := start(t, layout(t))
	g.Expect(err).NotTo(HaveOccurred())
	listener, err := n.Listen(t.Context(), "tcp", "192.0.2.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	go func() {
		connection, acceptErr := listener.Accept()
		if acceptErr == nil {
			_, _ = io.WriteString(connection, "hello")
			_ = connection.Close()
		}
	}()
	connection, err := n.DialContext(t.Context(), "tcp", listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(io.ReadAll(connection)).To(Equal([]byte("hello")))
}

// A thread that stayed would keep the namespace, and show it to whoever asks where this process is.
func TestNoThreadStaysInTheNamespace(t *testing.T) {
	g := NewWithT(t)
	n, err := start(t, layout(t))
	g.Expect(err).NotTo(HaveOccurred())
	var visits sync.WaitGroup
	for range 100 {
		visits.Go(func() {
			if listener, listenErr := n.Listen(t.Context(), "tcp", "192.0.2.1:0"); listenErr == nil {
				_ = listener.Close()
			}
		})
	}
	visits.Wait()
	home, err := os.Readlink("/proc/thread-self/ns/net")
	g.Expect(err).NotTo(HaveOccurred())
	node, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", n.PID()))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(home).NotTo(Equal(node))
	threads, err := filepath.Glob("/proc/self/task/*/ns/net")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(threads).NotTo(BeEmpty())
	for _, thread := range threads {
		if where, readErr := os.Readlink(thread); readErr == nil {
			g.Expect(where).To(Equal(home))
		}
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	g := NewWithT(t)
	wanted := layout(t)
	wanted.Programs = map[string]string{"gone": "/does/not/exist"}
	_, err := start(t, wanted)
	g.Expect(err).To(MatchError("set up the node's namespaces: cannot show the program /does/not/exist on the node"))

	wanted = layout(t)
	wanted.Dir = "/sys/nowhere"
	_, err = start(t, wanted)
	g.Expect(err).To(MatchError(ContainSubstring("make the node's directory: ")))
}

func mounts(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// What a kernel lacks cannot be taken away from it here; programs that fail as they would there can be put in the way.
func TestWhatTheKernelLacksIsNamed(t *testing.T) {
	for program, want := range map[string]string{
		"nft": "nftables cannot do what kube-proxy needs: the kernel lacks it",
		"ip":  "no network bridge: the kernel lacks it",
	} {
		t.Run(program, func(t *testing.T) {
			g := NewWithT(t)
			failing := filepath.Join(t.TempDir(), program)
			script := "#!/bin/sh\ncase \"$*\" in *bridge*|*probe*) echo 'Error: Unknown device type.' >&2; exit 2;; esac\n"
			g.Expect(os.WriteFile(failing, []byte(script), 0o755)).To(Succeed())
			wanted := layout(t)
			wanted.Programs = map[string]string{program: failing}
			_, err := start(t, wanted)
			g.Expect(err).To(MatchError(HavePrefix("set up the node's namespaces: " + want)))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
		})
	}
}

func TestADirectoryThatCannotCarryAnOverlayIsRefused(t *testing.T) {
	g := NewWithT(t)
	wanted := layout(t)
	base := t.TempDir()
	for _, name := range []string{"lower", "upper", "work"} {
		g.Expect(os.Mkdir(filepath.Join(base, name), 0o755)).To(Succeed())
	}
	if os.Getuid() == 0 {
		options := "lowerdir=" + base + "/lower,upperdir=" + base + "/upper,workdir=" + base + "/work"
		output, err := exec.Command("mount", "-t", "overlay", "-o", options, "overlay", wanted.Dir).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s", output)
		t.Cleanup(func() { g.Expect(exec.Command("umount", wanted.Dir).Run()).To(Succeed()) })
	}
	_, err := start(t, wanted)
	g.Expect(err).To(MatchError(HavePrefix("set up the node's namespaces: no overlay mount in " + wanted.Dir)))
}
