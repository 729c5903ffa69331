package testenv

import (
	"context"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
)

// SecretReads are the reads of single Secrets since the last Reset, as
// "namespace/name": those from the API server, and those from the cache. Who asks
// for metadata only sees no value, and does not count.
func (r *Requests) SecretReads() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.secrets...)
}

// sawSecret notes a read; the caller holds the lock.
func (r *Requests) sawSecret(req *http.Request) {
	before, name, ok := strings.Cut(req.URL.Path, "/secrets/")
	if ok && req.Method == http.MethodGet && !strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata") {
		r.secrets = append(r.secrets, before[strings.LastIndex(before, "/")+1:]+"/"+name)
	}
}

// client makes the operator's client, which notes reads from the cache.
func (r *Requests) client(config *rest.Config, options client.Options) (client.Client, error) {
	c, err := controllers.NewClient(config, options)
	return &noting{Client: c, requests: r}, err
}

// noting notes the reads of Secrets. The reads of an API reader go through the
// transport, and are noted there.
type noting struct {
	client.Client
	requests *Requests
}

// Get implements client.Reader.
func (n *noting) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*corev1.Secret); ok {
		n.requests.mu.Lock()
		n.requests.secrets = append(n.requests.secrets, key.String())
		n.requests.mu.Unlock()
	}
	return n.Client.Get(ctx, key, obj, opts...)
}
