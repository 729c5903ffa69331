package localnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// headerTimeout bounds how long a client may take to say what it wants.
const headerTimeout = 10 * time.Second

var (
	errNoService   = errors.New("no such service or port")
	errNoEndpoints = errors.New("no endpoints")
)

// serveProxy opens the forward proxy on a free loopback port.
func (n *Node) serveProxy(running context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("open proxy: %w", err)
	}
	n.listener = listener
	n.server = &http.Server{
		Handler:           http.HandlerFunc(n.route),
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          log.New(io.Discard, "", 0),
		BaseContext:       func(net.Listener) context.Context { return running },
	}
	n.running.Go(func() {
		if serveErr := n.server.Serve(listener); !errors.Is(serveErr, http.ErrServerClosed) {
			n.say("serve proxy: %v", serveErr)
		}
	})
	return nil
}

// route answers one request to the proxy.
func (n *Node) route(writer http.ResponseWriter, request *http.Request) {
	service, namespace, ok := serviceName(request.URL.Hostname())
	if !ok || request.Method == http.MethodConnect || request.URL.Scheme != "http" {
		http.Error(writer, "this proxy leads to http://<service>.<namespace>.svc only", http.StatusForbidden)
		return
	}
	port := 80
	if text := request.URL.Port(); text != "" {
		port, _ = strconv.Atoi(text)
	}
	address, err := n.endpoint(namespace, service, port)
	if errors.Is(err, errNoEndpoints) {
		http.Error(writer, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if err != nil {
		// A real cluster has no name or no port to dial. The nearest thing to that is to hang up.
		panic(http.ErrAbortHandler)
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Host = address
			// The process sees the name that the client asked for, as it would behind a Service.
			r.Out.Host = r.In.Host
		},
		Transport: backend,
		ErrorLog:  log.New(io.Discard, "", 0),
		// What stands behind a Service does not answer: neither does the proxy.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	proxy.ServeHTTP(writer, request)
}

// backend never keeps a connection: the next request may have to go to another pod.
var backend = &http.Transport{DisableKeepAlives: true, DisableCompression: true}

// serviceName splits <service>.<namespace>.svc, with or without the usual cluster domain.
func serviceName(host string) (service, namespace string, ok bool) {
	host = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(host), "."), ".cluster.local")
	parts := strings.Split(host, ".")
	if len(parts) != 3 || parts[2] != "svc" || parts[0] == "" || parts[1] == "" {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// endpoint is the address of a process behind a Service's port. The ready pods take turns.
func (n *Node) endpoint(namespace, name string, number int) (string, error) {
	service, err := n.services.Services(namespace).Get(name)
	if err != nil || service.Spec.Type == corev1.ServiceTypeExternalName {
		return "", errNoService
	}
	index := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int(p.Port) == number })
	if index < 0 {
		return "", errNoService
	}
	if len(service.Spec.Selector) == 0 {
		return "", errNoEndpoints
	}
	pods, err := n.pods.Pods(namespace).List(labels.SelectorFromSet(service.Spec.Selector))
	if err != nil {
		return "", errNoEndpoints
	}
	var addresses []string
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || !service.Spec.PublishNotReadyAddresses && !isReady(pod) {
			continue
		}
		if address := n.portAddress(pod, &service.Spec.Ports[index]); address != "" {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) == 0 {
		return "", errNoEndpoints
	}
	slices.Sort(addresses)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.turn++
	return addresses[n.turn%uint(len(addresses))], nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// portAddress is where the container listens that declares the target port. A number that no container declares belongs
// to the first container: declaring ports is optional in Kubernetes.
func (n *Node) portAddress(pod *corev1.Pod, port *corev1.ServicePort) string {
	n.mu.Lock()
	w := n.workers[pod.UID]
	n.mu.Unlock()
	if w == nil {
		return ""
	}
	number := port.TargetPort.IntVal
	if port.TargetPort.Type == intstr.Int && number == 0 {
		number = port.Port
	}
	for _, c := range w.main() {
		for _, declared := range c.spec.Ports {
			if port.TargetPort.Type == intstr.String && declared.Name == port.TargetPort.StrVal ||
				port.TargetPort.Type == intstr.Int && declared.ContainerPort == number {
				return c.snapshot().address
			}
		}
	}
	if port.TargetPort.Type == intstr.String {
		return ""
	}
	return w.main()[0].snapshot().address
}
