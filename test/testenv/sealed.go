package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// addresses are the keys of Secrets whose values are no secrets: a webhook's
// address holds a key, which stands beside it.
var addresses = []string{v1alpha1.CredentialsURLKey, v1alpha1.CredentialsInternalURLKey}

// said is everything that was logged through Log.
var said = &text{}

// text is a buffer for several goroutines.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.b.Bytes())
}

// Log writes to out, and keeps what was written for the search for secret values
// at the end: what the operator logs should go through it.
func Log(out io.Writer) io.Writer { return io.MultiWriter(out, said) }

// suiteName is the name of the suite: that of its directory.
func suiteName() (string, error) {
	directory, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the name of the suite: %w", err)
	}
	return filepath.Base(directory), nil
}

// followSecrets adds to Secrets what stands in any Secret, until Stop.
func (e *Env) followSecrets(config *rest.Config) error {
	watching, err := client.NewWithWatch(config, client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		return fmt.Errorf("make a client for watches: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	events, err := watching.Watch(ctx, &corev1.SecretList{})
	if err != nil {
		cancel()
		return fmt.Errorf("watch Secrets: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range events.ResultChan() {
			if secret, ok := event.Object.(*corev1.Secret); ok {
				e.learn(secret)
			}
		}
	}()
	e.stops = append(e.stops, func() error {
		events.Stop()
		cancel()
		<-ended
		return nil
	})
	return nil
}

func (e *Env) learn(secret *corev1.Secret) {
	for key, value := range secret.Data {
		if !slices.Contains(addresses, key) {
			e.Secrets.Add(fmt.Sprintf("%s in Secret %s/%s", key, secret.Namespace, secret.Name), value)
		}
	}
}

// sealed proves that no secret value stands outside of Secrets.
func (e *Env) sealed(suite string) error {
	for _, peer := range e.Network.peers() {
		for _, key := range peer.Issued() {
			e.Secrets.Add("a key that a server has handed out", []byte(key))
		}
	}
	shown, err := e.objects(context.Background())
	if err != nil {
		return err
	}
	shown["the operator's log"] = said.bytes()
	shown["what the operator has written"] = e.Requests.everWritten()
	families, err := metrics.Registry.Gather()
	if err != nil {
		return fmt.Errorf("gather the operator's metrics: %w", err)
	}
	for _, family := range families {
		shown["the operator's metrics"] = append(shown["the operator's metrics"], family.String()...)
	}
	hits := e.Secrets.Find(shown)
	err = errors.Join(
		figures.Value(suite, "canaries", e.Secrets.Len(), ""),
		figures.Value(suite, "canary-hits", len(hits), ""),
	)
	for _, hit := range hits {
		err = errors.Join(err, errors.New(hit.String()))
	}
	return err
}

// objects is what the API server has, by kind; of Secrets the metadata only.
func (e *Env) objects(ctx context.Context) (map[string][]byte, error) {
	api, err := discovery.NewDiscoveryClientForConfig(e.Plane.Config)
	if err != nil {
		return nil, fmt.Errorf("make a client for discovery: %w", err)
	}
	lists, err := api.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("discover all kinds: %w", err)
	}
	shown := map[string][]byte{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("discover all kinds: %w", err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") {
				continue
			}
			kind := version.WithKind(resource.Kind + "List")
			if shown["the objects of kind "+resource.Kind], err = e.list(ctx, kind); err != nil {
				return nil, err
			}
		}
	}
	return shown, nil
}

func (e *Env) list(ctx context.Context, kind schema.GroupVersionKind) ([]byte, error) {
	whole := &unstructured.UnstructuredList{}
	whole.SetGroupVersionKind(kind)
	list := client.ObjectList(whole)
	if kind.Group == "" && kind.Kind == "SecretList" {
		metadata := &metav1.PartialObjectMetadataList{}
		metadata.SetGroupVersionKind(kind)
		list = metadata
	}
	if err := e.Admin.List(ctx, list); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
	}
	return json.Marshal(list)
}

// sawWrite keeps what the operator writes, whether or not it is there at the
// end; of a Secret its metadata. The caller holds the lock.
func (r *Requests) sawWrite(req *http.Request) {
	if req.Method == http.MethodGet {
		return
	}
	body := sent(req)
	if strings.Contains(req.URL.Path, "/secrets") {
		var object metav1.PartialObjectMetadata
		if json.Unmarshal(body, &object) != nil {
			return
		}
		body, _ = json.Marshal(&object) // what was read can be written
	}
	r.written.Write(body)
	r.written.WriteByte('\n')
}

// everWritten is all that sawWrite has kept.
func (r *Requests) everWritten() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.written.Bytes())
}

// peers are all servers that there ever were.
func (n *Network) peers() []*Peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}
