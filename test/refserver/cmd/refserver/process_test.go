package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
)

// asServer makes the test program run main in place of the tests.
const asServer = "REFSERVER_TEST_MAIN"

const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is a running reference server.
type program struct {
	t       *testing.T
	process *process.Process
	url     string

	mu  sync.Mutex
	log strings.Builder
	// read is closed when the log is complete.
	read chan struct{}
}

var listening = regexp.MustCompile(`reference server \(not terdut-server\) on (\S+),`)

// launch starts a server on a free port. Its url stays empty when it ends before it listens.
func launch(t *testing.T, env ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append([]string{asServer + "=1", "TERDUT_LISTEN_ADDR=127.0.0.1:0"}, env...)
	output, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = input, input
	p := &program{t: t, read: make(chan struct{})}
	if p.process, err = process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	if err = input.Close(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go p.follow(output, address)
	select {
	case at := <-address:
		p.url = "http://" + at
	case <-p.read:
	}
	return p
}

// follow keeps the log until the program ends, and reports the address.
func (p *program) follow(output io.ReadCloser, address chan<- string) {
	defer close(p.read)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			address <- found[1]
		}
	}
	_ = output.Close() // nobody writes any more
}

func (p *program) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *program) stop() { p.process.Stop(patience) }

func (p *program) client(key string) *terdutapi.Client {
	p.t.Helper()
	c, err := terdutapi.New(p.url, terdutapi.WithAPIKey(key))
	if err != nil {
		p.t.Fatalf("%v; the server said: %s", err, p.output())
	}
	return c
}

// bootstrap returns the first key of a fresh server.
func (p *program) bootstrap() string {
	p.t.Helper()
	first, err := p.client("").Bootstrap(p.t.Context(),
		terdutapi.BootstrapRequest{Username: "root", Email: "root@example.com"})
	if err != nil {
		p.t.Fatalf("bootstrap: %v; the server said: %s", err, p.output())
	}
	return first.Key
}

// get returns status and body of an answer, status 0 without one.
func (p *program) get(path, key string) (int, string) {
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	if err = resp.Body.Close(); err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

func (p *program) health() int {
	status, _ := p.get("/healthz", "")
	return status
}

func TestMemoryForgets(t *testing.T) {
	g := NewWithT(t)
	for range 2 {
		server := launch(t, "TERDUT_DATABASE_URL=memory://")
		g.Expect(server.health()).To(Equal(http.StatusOK))
		server.bootstrap()
		server.stop()
		g.Expect(server.process.ExitCode()).To(BeZero())
		<-server.read
		g.Expect(server.output()).To(ContainSubstring("state in memory"))
	}
}
