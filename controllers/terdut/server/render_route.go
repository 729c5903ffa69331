package server

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

// routeKind is an optional kind. It is written as plain content: a dozen
// fields do not need the module that has its types, and a typed client would
// start an informer of a kind that may be absent.
var routeKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}

// listener is what spec.networking.gatewayListener names.
type listener struct {
	namespace, gateway, section string
}

// listenerOf reads <namespace>/<gateway>[/<section>]; nil means that the field
// is not set.
func listenerOf(spec *v1alpha1.TerdutServerSpec) *listener {
	namespace, rest, found := strings.Cut(spec.Networking.GatewayListener, "/")
	if !found {
		return nil
	}
	gateway, section, _ := strings.Cut(rest, "/")
	return &listener{namespace: namespace, gateway: gateway, section: section}
}

func (l *listener) String() string {
	text := "Gateway " + l.namespace + "/" + l.gateway
	if l.section != "" {
		text += ", listener " + l.section
	}
	return text
}

// renderRoute leads hostname from the listener to the Service. Every list in
// it is one field to the API server, so that all defaults are spelled out.
func renderRoute(in *Inputs) runtime.ApplyConfiguration {
	to := listenerOf(&in.Spec)
	parent := map[string]any{
		"group": routeKind.Group, "kind": "Gateway", "namespace": to.namespace, "name": to.gateway,
	}
	if to.section != "" {
		parent["sectionName"] = to.section
	}
	route := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"parentRefs": []any{parent},
		"hostnames":  []any{in.Spec.Networking.Hostname},
		"rules": []any{map[string]any{
			"matches": []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/"}}},
			"backendRefs": []any{map[string]any{
				"group": "", "kind": "Service", "name": serviceName(in.Name), "port": int64(port(&in.Spec)), "weight": int64(1),
			}},
		}},
	}}}
	route.SetGroupVersionKind(routeKind)
	route.SetNamespace(in.Namespace)
	route.SetName(in.Name)
	route.SetLabels(labels(in.Name))
	route.Object["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{ //nolint:forcetypeassert // set above
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "TerdutServer", "name": in.Name, "uid": string(in.UID),
		"controller": true, "blockOwnerDeletion": true,
	}}
	return client.ApplyConfigurationFromUnstructured(route)
}
