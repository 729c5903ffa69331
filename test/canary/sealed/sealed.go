// Package sealed watches a cluster for values that must stand in Secrets only:
// it remembers what ever stood in one, and looks at the end for all of it in
// everything else that the API server has.
package sealed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/canary"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// addresses are the keys of Secrets whose values are no secrets: a webhook's
// address holds a key, which stands beside it.
var addresses = []string{v1alpha1.CredentialsURLKey, v1alpha1.CredentialsInternalURLKey}

// Text is what somebody writes for people, such as a log. The zero value is
// empty; it is safe for concurrent use.
type Text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (t *Text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

// Bytes are a copy of what was written.
func (t *Text) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.b.Bytes())
}

// Tee writes to out as well.
func (t *Text) Tee(out io.Writer) io.Writer { return io.MultiWriter(out, t) }

// Cluster is a cluster that is watched.
type Cluster struct {
	// Values are all values that must stand in Secrets only: those that stood in
	// one, and what was added.
	Values *canary.Values

	config *rest.Config
	all    client.Client
	stop   func()
}

// Watch remembers what stands in any Secret, until Stop. config is the access of
// somebody who may read everything.
func Watch(config *rest.Config) (*Cluster, error) {
	all, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("make a client for watches: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	events, err := all.Watch(ctx, &corev1.SecretList{})
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch Secrets: %w", err)
	}
	c := &Cluster{Values: &canary.Values{}, config: config, all: all}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range events.ResultChan() {
			if secret, ok := event.Object.(*corev1.Secret); ok {
				c.learn(secret)
			}
		}
	}()
	c.stop = sync.OnceFunc(func() {
		events.Stop()
		cancel()
		<-ended
	})
	return c, nil
}

// Stop ends the watch.
func (c *Cluster) Stop() { c.stop() }

func (c *Cluster) learn(secret *corev1.Secret) {
	for key, value := range secret.Data {
		if !slices.Contains(addresses, key) {
			c.Values.Add(fmt.Sprintf("%s in Secret %s/%s", key, secret.Namespace, secret.Name), value)
		}
	}
}

// Prove looks for every value in all objects that there are, in the metadata of
// Secrets, and in more, which is named by its places. It publishes the figures
// canaries and canary-hits of the suite. Each hit is an error, which does not
// show the value.
func (c *Cluster) Prove(ctx context.Context, suite string, more map[string][]byte) error {
	shown, err := c.objects(ctx)
	if err != nil {
		return err
	}
	maps.Copy(shown, more)
	hits := c.Values.Find(shown)
	err = errors.Join(
		figures.Value(suite, "canaries", c.Values.Len(), ""),
		figures.Value(suite, "canary-hits", len(hits), ""),
	)
	for _, hit := range hits {
		err = errors.Join(err, errors.New(hit.String()))
	}
	return err
}

// objects is what the API server has, by kind; of Secrets the metadata only.
func (c *Cluster) objects(ctx context.Context) (map[string][]byte, error) {
	api, err := discovery.NewDiscoveryClientForConfig(c.config)
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
			if shown["the objects of kind "+resource.Kind], err = c.list(ctx, kind); err != nil {
				return nil, err
			}
		}
	}
	return shown, nil
}

func (c *Cluster) list(ctx context.Context, kind schema.GroupVersionKind) ([]byte, error) {
	whole := &unstructured.UnstructuredList{}
	whole.SetGroupVersionKind(kind)
	list := client.ObjectList(whole)
	if kind.Group == "" && kind.Kind == "SecretList" {
		metadata := &metav1.PartialObjectMetadataList{}
		metadata.SetGroupVersionKind(kind)
		list = metadata
	}
	if err := c.all.List(ctx, list); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
	}
	return json.Marshal(list)
}
