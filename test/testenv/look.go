package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
)

// user is the field manager under which tests apply.
const user = "kubectl"

// Namespace makes a namespace with a generated name and those labels.
func (e *Env) Namespace(ctx context.Context, prefix string, labels map[string]string) (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-", Labels: labels}}
	if err := e.Admin.Create(ctx, ns); err != nil {
		return "", fmt.Errorf("create a namespace: %w", err)
	}
	return ns.Name, nil
}

// Apply applies the YAML documents, as kubectl apply --server-side would, in a
// namespace if they name none.
func (e *Env) Apply(ctx context.Context, namespace, documents string) error {
	for document := range strings.SplitSeq(documents, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return fmt.Errorf("read a manifest: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		config := client.ApplyConfigurationFromUnstructured(object)
		if err := e.Admin.Apply(ctx, config, client.FieldOwner(user), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// Events are the Events about an object, as "Type Reason: note", the oldest
// first. A series counts once.
func (e *Env) Events(ctx context.Context, about client.Object) ([]string, error) {
	list := &eventsv1.EventList{}
	if err := e.Admin.List(ctx, list, client.InNamespace(about.GetNamespace())); err != nil {
		return nil, fmt.Errorf("list Events: %w", err)
	}
	slices.SortStableFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	var out []string
	for i := range list.Items {
		if one := &list.Items[i]; one.Regarding.UID == about.GetUID() {
			out = append(out, fmt.Sprintf("%s %s: %s", one.Type, one.Reason, one.Note))
		}
	}
	return out, nil
}

// Row is what kubectl get -o wide prints of one object, by column.
func (e *Env) Row(ctx context.Context, resource, namespace, name string) (map[string]string, error) {
	config := rest.CopyConfig(e.Plane.Config)
	config.GroupVersion, config.APIPath = &v1alpha1.SchemeGroupVersion, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(controllers.Scheme()).WithoutConversion()
	api, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for tables: %w", err)
	}
	raw, err := api.Get().Namespace(namespace).Resource(resource).Name(name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("get %s %s as a table: %w", resource, name, err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(raw, table); err != nil {
		return nil, fmt.Errorf("read the table of %s %s: %w", resource, name, err)
	}
	row := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		row[column.Name] = fmt.Sprint(table.Rows[0].Cells[i])
	}
	return row, nil
}
