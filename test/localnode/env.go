package localnode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// source gives the values that environments refer to.
type source interface {
	// secret and configMap return nil data and no error for an object that does not exist.
	secret(ctx context.Context, namespace, name string) (map[string]string, error)
	configMap(ctx context.Context, namespace, name string) (map[string]string, error)
}

// liveSource asks the API server each time, like a kubelet that starts a container.
type liveSource struct{ client kubernetes.Interface }

func (s liveSource) secret(ctx context.Context, namespace, name string) (map[string]string, error) {
	found, err := s.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get secret %q: %w", name, err)
	}
	values := make(map[string]string, len(found.Data))
	for key, value := range found.Data {
		values[key] = string(value)
	}
	return values, nil
}

func (s liveSource) configMap(ctx context.Context, namespace, name string) (map[string]string, error) {
	found, err := s.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get configmap %q: %w", name, err)
	}
	values := make(map[string]string, len(found.Data))
	maps.Copy(values, found.Data)
	return values, nil
}

// environment resolves one container's envFrom and env, in the order in which a kubelet does: what stands later wins, and
// $(NAME) sees what stands before it. Each name occurs once in the result. No value is ever part of an error.
type environment struct {
	source source
	pod    *corev1.Pod
	values map[string]string
	order  []string
}

func resolveEnv(ctx context.Context, values source, pod *corev1.Pod, container *corev1.Container) ([]corev1.EnvVar, error) {
	e := environment{source: values, pod: pod, values: map[string]string{}}
	for i := range container.EnvFrom {
		if err := e.addFrom(ctx, &container.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	for i := range container.Env {
		if err := e.add(ctx, &container.Env[i]); err != nil {
			return nil, err
		}
	}
	env := make([]corev1.EnvVar, 0, len(e.order))
	for _, name := range e.order {
		env = append(env, corev1.EnvVar{Name: name, Value: e.values[name]})
	}
	return env, nil
}

func (e *environment) set(name, value string) {
	if _, ok := e.values[name]; !ok {
		e.order = append(e.order, name)
	}
	e.values[name] = value
}

func (e *environment) addFrom(ctx context.Context, from *corev1.EnvFromSource) error {
	var data map[string]string
	var err error
	switch {
	case from.SecretRef != nil:
		data, err = e.load(ctx, "secret", from.SecretRef.Name, from.SecretRef.Optional)
	case from.ConfigMapRef != nil:
		data, err = e.load(ctx, "configmap", from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	}
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		e.set(from.Prefix+key, data[key])
	}
	return nil
}

func (e *environment) add(ctx context.Context, variable *corev1.EnvVar) error {
	from := variable.ValueFrom
	if from == nil {
		e.set(variable.Name, expand(variable.Value, e.values))
		return nil
	}
	var value string
	var found bool
	var err error
	switch {
	case from.SecretKeyRef != nil:
		value, found, err = e.key(ctx, "secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Optional)
	case from.ConfigMapKeyRef != nil:
		value, found, err = e.key(ctx, "configmap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional)
	case from.FieldRef != nil:
		value, found, err = e.field(from.FieldRef.FieldPath)
	default:
		err = errors.New("localnode resolves secretKeyRef, configMapKeyRef and fieldRef only")
	}
	if err != nil {
		return fmt.Errorf("variable %s: %w", variable.Name, err)
	}
	if found {
		e.set(variable.Name, value)
	}
	return nil
}

// load reads an object; it is nil if it is missing and optional. The messages are a kubelet's.
func (e *environment) load(ctx context.Context, kind, name string, optional *bool) (map[string]string, error) {
	get := e.source.secret
	if kind == "configmap" {
		get = e.source.configMap
	}
	data, err := get(ctx, e.pod.Namespace, name)
	if err != nil {
		return nil, err
	}
	if data == nil && (optional == nil || !*optional) {
		return nil, fmt.Errorf("%s %q not found", kind, name)
	}
	return data, nil
}

func (e *environment) key(ctx context.Context, kind, name, key string, optional *bool) (string, bool, error) {
	data, err := e.load(ctx, kind, name, optional)
	if err != nil || data == nil {
		return "", false, err
	}
	value, ok := data[key]
	if !ok && (optional == nil || !*optional) {
		title := map[string]string{"secret": "Secret", "configmap": "ConfigMap"}[kind]
		return "", false, fmt.Errorf("couldn't find key %s in %s %s/%s", key, title, e.pod.Namespace, name)
	}
	return value, ok, nil
}

func (e *environment) field(path string) (string, bool, error) {
	if name, ok := subscript(path, "metadata.labels"); ok {
		return e.pod.Labels[name], true, nil
	}
	if name, ok := subscript(path, "metadata.annotations"); ok {
		return e.pod.Annotations[name], true, nil
	}
	fields := map[string]string{
		"metadata.name":           e.pod.Name,
		"metadata.namespace":      e.pod.Namespace,
		"metadata.uid":            string(e.pod.UID),
		"spec.nodeName":           e.pod.Spec.NodeName,
		"spec.serviceAccountName": e.pod.Spec.ServiceAccountName,
		"status.hostIP":           nodeAddress,
		"status.hostIPs":          nodeAddress,
		"status.podIP":            e.pod.Status.PodIP,
		"status.podIPs":           e.pod.Status.PodIP,
	}
	value, ok := fields[path]
	if !ok {
		return "", false, fmt.Errorf("localnode does not know the field %s", path)
	}
	return value, true, nil
}

// subscript takes name out of prefix['name'].
func subscript(path, prefix string) (string, bool) {
	inner, ok := strings.CutPrefix(path, prefix+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(inner, "']")
}
