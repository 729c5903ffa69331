package localnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
)

const (
	// DefaultListenEnv is the variable that tells a process where to listen when Options do not name one.
	DefaultListenEnv = "TERDUT_LISTEN_ADDR"

	defaultNodeName       = "localnode"
	defaultMaxProbePeriod = 250 * time.Millisecond
	defaultMaxBackOff     = 5 * time.Second

	// nodeAddress is the node's in TEST-NET-1; pods have the others. Nothing listens there.
	nodeAddress = "192.0.2.1"
	// syncTimeout bounds the first read of all pods and Services.
	syncTimeout = 30 * time.Second
)

// Options say how the node behaves. Config and Images have no default.
type Options struct {
	// Config is the access of a user who may do everything, as a scheduler and a kubelet together nearly do.
	Config *rest.Config
	// NodeName is the name of the Node object. Default: localnode.
	NodeName string
	// Images gives each image the command line of a local process. The key is a full image name, with tag or digest, or a
	// repository; the full name counts first. A pod with another image stays in ErrImagePull and ImagePullBackOff.
	Images map[string][]string
	// ListenEnv is the variable that is set to 127.0.0.1:<free port> for each container, whatever its specification says:
	// there the process has to listen. Default: [DefaultListenEnv].
	ListenEnv string
	// ExtraEnv is added to the environment of every process, where the specification does not set the same name.
	ExtraEnv map[string]string
	// MaxProbePeriod caps the period of all probes and the initial delay of readiness and startup probes. A liveness or
	// startup probe still needs as long as on a real node to condemn a container. Default: 250 ms.
	MaxProbePeriod time.Duration
	// MaxBackOff caps the time between two starts of a container that crashes. Default: 5 s.
	MaxBackOff time.Duration
	// LogDir gets the output of each container as <namespace>_<pod>_<container>.log. Empty discards the output.
	LogDir string
	// Log gets one line for each start and end of a process. nil discards it.
	Log io.Writer
}

func (o *Options) complete() error {
	if o.Config == nil {
		return errors.New("start local node: Options.Config is missing")
	}
	if o.NodeName == "" {
		o.NodeName = defaultNodeName
	}
	if o.ListenEnv == "" {
		o.ListenEnv = DefaultListenEnv
	}
	if o.MaxProbePeriod <= 0 {
		o.MaxProbePeriod = defaultMaxProbePeriod
	}
	if o.MaxBackOff <= 0 {
		o.MaxBackOff = defaultMaxBackOff
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.LogDir != "" {
		if err := os.MkdirAll(o.LogDir, 0o755); err != nil {
			return fmt.Errorf("make directory for the logs of pods: %w", err)
		}
	}
	return nil
}

// Node is a running local node.
type Node struct {
	options  Options
	client   kubernetes.Interface
	values   source
	pods     corelisters.PodLister
	services corelisters.ServiceLister

	// dir holds the working directories of the processes.
	dir      string
	listener net.Listener
	server   *http.Server

	cancel context.CancelFunc
	// running counts everything that Stop waits for.
	running sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	workers map[types.UID]*worker
	binding map[types.UID]bool
	// addresses counts the pod addresses given out.
	addresses int
	// turn chooses among the pods of a Service.
	turn uint
	// logMu keeps lines whole.
	logMu sync.Mutex
}

// Start registers the node, begins to run pods and opens the proxy. ctx bounds the start only; the node runs until
// [Node.Stop]. On Linux its processes end with the calling process in every case.
func Start(ctx context.Context, options Options) (*Node, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(options.Config)
	if err != nil {
		return nil, fmt.Errorf("start local node: make client: %w", err)
	}
	node := &Node{
		options: options,
		client:  client,
		values:  liveSource{client},
		workers: map[types.UID]*worker{},
		binding: map[types.UID]bool{},
	}
	if node.dir, err = os.MkdirTemp("", "terdut-localnode-"); err != nil {
		return nil, fmt.Errorf("start local node: %w", err)
	}
	// Values of the context stay visible; its end does not end the node.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	node.cancel = cancel
	if err = node.start(ctx, running); err != nil {
		return nil, errors.Join(fmt.Errorf("start local node: %w", err), node.Stop())
	}
	return node, nil
}

func (n *Node) start(ctx, running context.Context) error {
	if err := n.register(ctx); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(n.client, 0)
	n.pods = factory.Core().V1().Pods().Lister()
	n.services = factory.Core().V1().Services().Lister()
	factory.Core().V1().Services().Informer()
	if err := n.watch(running, factory); err != nil {
		return err
	}
	factory.StartWithContext(running)
	n.running.Go(func() {
		<-running.Done()
		factory.Shutdown()
	})
	syncing, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	for kind, synced := range factory.WaitForCacheSync(syncing.Done()) {
		if !synced {
			return fmt.Errorf("read all %s within %s: not done", kind, syncTimeout)
		}
	}
	return n.serveProxy(running)
}

// Stop ends all processes and the proxy and waits for them. The API objects stay as they are. It may be called on nil and
// more than once.
func (n *Node) Stop() error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	n.stopped = true
	n.mu.Unlock()
	n.cancel()
	var failed error
	if n.server != nil {
		failed = n.server.Close()
	}
	n.running.Wait()
	if err := errors.Join(failed, os.RemoveAll(n.dir)); err != nil {
		return fmt.Errorf("stop local node: %w", err)
	}
	return nil
}

// ProxyURL is the address of the forward proxy, as in http://127.0.0.1:40000. A request for
// http://<service>.<namespace>.svc:<port>, with or without .cluster.local, goes to a ready pod of that Service. Where no
// pod is ready the answer is 503 with the text "no endpoints"; a Service or port that does not exist has its connection
// closed without an answer, which a client reports as EOF where a real cluster makes it fail to dial; every other host is
// answered with 403. The proxy speaks plain HTTP only.
func (n *Node) ProxyURL() *url.URL {
	return &url.URL{Scheme: "http", Host: n.listener.Addr().String()}
}

// Address is where the first container of a pod listens, as in 127.0.0.1:40000. It is empty when no such container runs.
func (n *Node) Address(namespace, pod string) string {
	n.mu.Lock()
	workers := slices.Collect(maps.Values(n.workers))
	n.mu.Unlock()
	for _, w := range workers {
		if p := w.pod.Load(); p.Namespace == namespace && p.Name == pod {
			return w.main()[0].snapshot().address
		}
	}
	return ""
}

// say writes one line to the log. A writer that fails changes nothing.
func (n *Node) say(format string, args ...any) {
	n.logMu.Lock()
	defer n.logMu.Unlock()
	_, _ = fmt.Fprintf(n.options.Log, "localnode: "+format+"\n", args...)
}
