// Package tunnel dials pods through the API server, as kubectl port-forward does: the one way into a cluster that needs
// nothing but a kubeconfig. The API server's proxy for Services would not do, since it keeps the Authorization header.
package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Tunnel dials by the names that pods use for each other.
type Tunnel struct {
	config *rest.Config
	kube   client.Client
}

// New makes a tunnel with the rights of config: it gets Services, lists pods and creates pods/portforward.
func New(config *rest.Config, kube client.Client) *Tunnel { return &Tunnel{config: config, kube: kube} }

// Client is an HTTP client for URLs such as http://<service>.<namespace>.svc:<port>. Each request has its own connection:
// one that is kept would go on to lead to a pod that has been replaced.
func (t *Tunnel) Client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{DialContext: t.Dial, DisableKeepAlives: true},
		Timeout:   30 * time.Second,
	}
}

// Dial connects to <service>.<namespace>.svc:<port>: to a ready pod of that Service, at the port that the Service leads
// to. Any other name is an error.
func (t *Tunnel) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	name, rest, _ := strings.Cut(host, ".")
	namespace, kind, _ := strings.Cut(rest, ".")
	if kind != "svc" {
		return nil, fmt.Errorf("dial %s: only <service>.<namespace>.svc leads into the cluster", address)
	}
	service := &corev1.Service{}
	if err = t.kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, service); err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	pod, err := t.ready(ctx, namespace, service.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	target, err := targetPort(service, pod, port)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	return t.DialPod(ctx, namespace, pod.Name, target)
}

// ready is a ready pod of a selector.
func (t *Tunnel) ready(ctx context.Context, namespace string, selector map[string]string) (*corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := t.kube.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(selector)); err != nil {
		return nil, fmt.Errorf("list its pods: %w", err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.DeletionTimestamp.IsZero() && Ready(pod) {
			return pod, nil
		}
	}
	return nil, errors.New("no pod of it is ready")
}

// Ready tells whether a pod's condition Ready is true.
func Ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// targetPort is the port of the pod that a port of the Service leads to.
func targetPort(service *corev1.Service, pod *corev1.Pod, port string) (int32, error) {
	for _, p := range service.Spec.Ports {
		if strconv.Itoa(int(p.Port)) != port {
			continue
		}
		if p.TargetPort.Type == intstr.Int {
			return p.TargetPort.IntVal, nil
		}
		for _, container := range pod.Spec.Containers {
			for _, named := range container.Ports {
				if named.Name == p.TargetPort.StrVal {
					return named.ContainerPort, nil
				}
			}
		}
		return 0, fmt.Errorf("pod %s has no port named %q", pod.Name, p.TargetPort.StrVal)
	}
	return 0, fmt.Errorf("the Service %s has no port %s", service.Name, port)
}

// DialPod connects to a port of one pod. ctx bounds the dialling as far as the library lets it, not the connection.
func (t *Tunnel) DialPod(ctx context.Context, namespace, pod string, port int32) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	where := fmt.Sprintf("port %d of pod %s/%s", port, namespace, pod)
	base, _, err := rest.DefaultServerUrlFor(t.config)
	if err != nil {
		return nil, fmt.Errorf("forward to %s: %w", where, err)
	}
	target := base.JoinPath("api", "v1", "namespaces", url.PathEscape(namespace), "pods", url.PathEscape(pod), "portforward")
	dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(target, t.config)
	if err != nil {
		return nil, fmt.Errorf("forward to %s: %w", where, err)
	}
	connection, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("forward to %s: %w", where, err)
	}
	opened, err := open(connection, port)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("forward to %s: %w", where, err), connection.Close())
	}
	return opened, nil
}

// open opens the pair of streams that is one forwarded connection.
func open(connection httpstream.Connection, port int32) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	complaints, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	if err = complaints.Close(); err != nil { // nothing is written to it
		return nil, err
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	c := &forwarded{Stream: data, connection: connection, complaint: make(chan error, 1)}
	go func() {
		text, readErr := io.ReadAll(complaints)
		if readErr == nil && len(text) > 0 {
			readErr = errors.New(string(text))
		}
		c.complaint <- readErr
	}()
	return c, nil
}
