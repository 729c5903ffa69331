package node

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
	"git.ryuvia.com/niklas/terdut-operator/test/node/namespace"
)

// config is what the programs are configured with. The files stand for themselves: under the root directory that the node
// has of its own, every path and every address is always the same.
//
//go:embed config
var config embed.FS

// The network of the node. It has no link to any other one, so nobody's addresses are in the way; the node's own is from
// the range for documentation. The files in config have the same addresses.
const (
	nodeAddress    = "192.0.2.1"
	nodeNetwork    = nodeAddress + "/24"
	serviceRange   = "10.96.0.0/16"
	serviceAddress = "10.96.0.1"
	apiServerPort  = "6443"
	etcdURL        = "http://127.0.0.1:2379"
	apiServerURL   = "https://" + nodeAddress + ":" + apiServerPort

	containerdSocket = "/run/containerd/containerd.sock"
)

// The parts of the node: the names of their programs and logs.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	containerd        = "containerd"
	kubelet           = "kubelet"
	proxy             = "kube-proxy"
)

// The images that the node is made with.
const (
	pauseImage   = "node.local/pause:1"
	coreDNSImage = "node.local/coredns:1"
)

// start starts everything, in the order in which one part needs the other.
func (n *Node) start(ctx context.Context, options Options) (err error) {
	if err = n.writeConfig(); err != nil {
		return err
	}
	// A copy, where the other programs are only shown: runc protects itself by running from an overlay of its directory, and
	// an overlay does not show what is mounted in the directory below.
	bin := filepath.Join(n.dir, "bin")
	if err = os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("make the node's directory: %w", err)
	}
	if err = source.Copy(n.Programs.Runc, bin, runcBinary); err != nil {
		return err
	}
	layout := namespace.Layout{Dir: n.dir, Programs: n.Programs.byName(), Address: nodeNetwork, Services: serviceRange}
	if n.space, err = namespace.New(ctx, n.Programs.Pause, layout); err != nil {
		return err
	}
	if err = record(n.dir, n.space.PID()); err != nil {
		return err
	}
	n.forward, err = startForwarder(options.Port, func(ctx context.Context) (net.Conn, error) {
		return n.DialContext(ctx, "tcp", net.JoinHostPort(nodeAddress, apiServerPort))
	})
	if err != nil {
		return err
	}
	if err = n.writeAccess(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		n.startEtcd, n.startAPIServer, n.startManager, n.startScheduler, n.startContainerd,
		// kube-proxy waits for the Node that the kubelet makes.
		n.startKubelet, n.startProxy, n.startDNS,
	} {
		if err = step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// byName are the programs under the names that they have on the node, but for runc.
func (p Programs) byName() map[string]string {
	programs := map[string]string{
		etcd: p.Etcd, apiServer: p.KubeAPIServer, controllerManager: p.KubeControllerManager, scheduler: p.KubeScheduler,
		kubelet: p.Kubelet, proxy: p.KubeProxy,
		containerd: p.Containerd, shimBinary: p.Shim, ctrBinary: p.Ctr,
	}
	for name, path := range p.CNI {
		programs[name] = path
	}
	return programs
}

// writeAccess writes all certificates and kubeconfig files.
func (n *Node) writeAccess() error {
	pki := filepath.Join(n.dir, "pki")
	ca, err := newAuthority(pki)
	if err != nil {
		return err
	}
	addresses := []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(nodeAddress), net.ParseIP(serviceAddress)}
	if err = ca.server("apiserver", addresses, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local"); err != nil {
		return err
	}
	if err = ca.server("kubelet", addresses[1:2], Name); err != nil {
		return err
	}
	if err = ca.signer("serviceaccounts"); err != nil {
		return err
	}
	certificate, key, err := ca.client("kube-apiserver", "system:masters")
	if err != nil {
		return err
	}
	if err = ca.write("apiserver-client.crt", certificate); err != nil {
		return err
	}
	if err = ca.write("apiserver-client.key", key); err != nil {
		return err
	}
	for _, user := range []struct{ file, name, group string }{
		{controllerManager, "system:kube-controller-manager", "system:masters"},
		{scheduler, "system:kube-scheduler", ""},
		{kubelet, "system:node:" + Name, "system:nodes"},
		{proxy, "system:kube-proxy", ""},
	} {
		if err = ca.kubeconfig(filepath.Join(pki, user.file+".kubeconfig"), apiServerURL, user.name, user.group); err != nil {
			return err
		}
	}
	if err = ca.kubeconfig(n.Kubeconfig(), n.forward.url(), "admin", "system:masters"); err != nil {
		return err
	}
	return n.loadConfig()
}

// get asks a server on the node and wants 200.
func (n *Node) get(ctx context.Context, url string) error {
	client := http.Client{
		Transport: &http.Transport{DialContext: n.DialContext, DisableKeepAlives: true},
		Timeout:   5 * time.Second,
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	if err = response.Body.Close(); err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask %s: %s", url, response.Status)
	}
	return nil
}

// nodeReady tells whether the kubelet says that it can run pods.
func nodeReady(ctx context.Context, client kubernetes.Interface) error {
	found, err := client.CoreV1().Nodes().Get(ctx, Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get node: %w", err)
	}
	for _, condition := range found.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			if condition.Status == corev1.ConditionTrue {
				return nil
			}
			return fmt.Errorf("the node is not Ready: %s", condition.Message)
		}
	}
	return errors.New("the node has no condition Ready")
}
