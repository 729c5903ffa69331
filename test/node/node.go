package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
	"git.ryuvia.com/niklas/terdut-operator/test/node/namespace"
)

// Name is the name of the one node of the cluster.
const Name = "node"

// Options say what to start. The zero value is enough.
type Options struct {
	// Log gets the progress: which program is built, which part starts, and how long each took. nil discards it.
	Log io.Writer
	// Dir is the node's directory: data, images, logs. It is made, belongs to one node at a time and is removed at the end.
	// Empty means terdut-node in the directory for temporary files. It must not lie on an overlay file system.
	Dir string
	// Port is the port on 127.0.0.1 by which this process makes the API server reachable. 0 means a free one.
	Port int
	// KeepLogs is a directory that gets a copy of all logs when the node stops. It is made; files in it with the same names
	// are replaced. Empty means none.
	KeepLogs string
}

// Node is a running node.
type Node struct {
	// Programs are what runs.
	Programs Programs

	log      io.Writer
	dir      string
	keepLogs string
	release  func()
	space    *namespace.Namespace
	forward  *forwarder
	config   *rest.Config

	// mutex guards processes: a restart replaces one.
	mutex     sync.Mutex
	processes map[string]*process.Process
	files     []*os.File
}

// Start starts a node, and first builds its programs if they are missing (see [Build]). It returns when the node is Ready
// and its DNS answers. Leftovers of a run that was killed are cleared. ctx bounds building and waiting, not the life of
// the node; that ends with [Node.Stop], and with the calling process in every case. After an error nothing is left. The
// error is one line that says what to do.
func Start(ctx context.Context, options Options) (_ *Node, err error) {
	options = options.withDefaults()
	if err = thisMachine().check(); err != nil {
		return nil, err
	}
	programs, err := Build(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	n := &Node{
		Programs: programs, log: options.Log, dir: options.Dir, keepLogs: options.KeepLogs,
		processes: map[string]*process.Process{},
	}
	if n.release, err = occupy(ctx, options.Dir, options.Log); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err = n.start(ctx, options); err != nil {
		return nil, errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
	}
	say(n.log, "the node is ready after %d s", int(time.Since(begin).Seconds()))
	return n, nil
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(os.TempDir(), "terdut-node")
	}
	// In the node's namespaces the working directory is another one.
	if absolute, err := filepath.Abs(o.Dir); err == nil {
		o.Dir = absolute
	}
	return o
}

// Kubeconfig is the path of a kubeconfig file with the access of an administrator. It stays valid when the API server or
// etcd are restarted. [Node.Stop] removes it.
func (n *Node) Kubeconfig() string { return filepath.Join(n.dir, "admin.kubeconfig") }

// Config is the access of an administrator.
func (n *Node) Config() *rest.Config { return rest.CopyConfig(n.config) }

// Kubectl is a kubectl command with the access of an administrator. Its cache lies in the node's own directory.
func (n *Node) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	flags := []string{"--kubeconfig=" + n.Kubeconfig(), "--cache-dir=" + filepath.Join(n.dir, "kubectl-cache")}
	return exec.CommandContext(ctx, n.Programs.Kubectl, append(flags, args...)...)
}

// LogFile is the path of the log of one of the node's programs, such as "kubelet". It is there for as long as the node is.
func (n *Node) LogFile(program string) string { return filepath.Join(n.dir, "log", program+".log") }

// DialContext connects to an address as it is seen from the node: an address of a pod, of a Service, or of the node. The
// network is tcp or udp with an IP address and port; names are not resolved.
func (n *Node) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return n.space.DialContext(ctx, network, address)
}

// Listen makes a TCP listener of this process at a free port of the node's own address, which pods can reach.
func (n *Node) Listen(ctx context.Context) (net.Listener, error) {
	return n.space.Listen(ctx, "tcp", net.JoinHostPort(nodeAddress, "0"))
}

// RestartAPIServer kills kube-apiserver and starts it again with the same data and the same address. It returns when it is
// ready. Watches and connections break.
func (n *Node) RestartAPIServer(ctx context.Context) error {
	if err := n.end(ctx, apiServer); err != nil {
		return err
	}
	return n.startAPIServer(ctx)
}

// RestartEtcd kills etcd and starts it again with the same data. It returns when the API server is ready with it.
func (n *Node) RestartEtcd(ctx context.Context) error {
	if err := n.end(ctx, etcd); err != nil {
		return err
	}
	if err := n.startEtcd(ctx); err != nil {
		return err
	}
	return n.await(ctx, apiServer, n.apiServerReady)
}

// Stop ends the node and leaves nothing of it: no process, mount, link, cgroup or file. It may be called on nil and more
// than once.
func (n *Node) Stop(ctx context.Context) error {
	if n == nil || n.release == nil {
		return nil
	}
	failed := n.forward.close()
	n.space.Kill()
	n.mutex.Lock()
	for _, running := range n.processes {
		running.Stop(0)
	}
	n.mutex.Unlock()
	for _, file := range n.files {
		failed = errors.Join(failed, file.Close())
	}
	failed = errors.Join(failed, n.saveLogs(), remove(ctx, n.dir))
	n.release()
	n.release = nil
	if failed != nil {
		return fmt.Errorf("stop node: %w", failed)
	}
	return nil
}

func (n *Node) saveLogs() error {
	if n.keepLogs == "" {
		return nil
	}
	logs := filepath.Join(n.dir, "log")
	err := filepath.WalkDir(logs, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		relative, err := filepath.Rel(logs, path)
		if err != nil {
			return err
		}
		target := filepath.Join(n.keepLogs, relative)
		if err = os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep logs: %w", err)
	}
	return nil
}

// loadConfig reads the administrator's access.
func (n *Node) loadConfig() (err error) {
	n.config, err = clientcmd.BuildConfigFromFlags("", n.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	// The client's own limits would only slow tests down.
	n.config.QPS, n.config.Burst = 1000, 2000
	return nil
}

// say writes one line to log. What is written there is for a reader who waits; a writer that fails changes nothing.
func say(log io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(log, "node: "+format+"\n", args...)
}
