package world

import (
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientac "k8s.io/client-go/applyconfigurations"

	"git.ryuvia.com/niklas/terdut-operator/applyconfig/terdut"
	"git.ryuvia.com/niklas/terdut-operator/config/crd"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
)

// kind is what the world knows of one kind.
type kind struct {
	gvk        schema.GroupVersionKind
	resource   string
	namespaced bool
	// status is true when the status is written apart from the rest.
	status bool
	// counts is true when the kind has a generation.
	counts bool
	// schema is that of a custom resource; nil for a built-in kind.
	schema *apiextensionsv1.JSONSchemaProps
	// managers merge, by subresource.
	managers map[string]*managedfields.FieldManager
	// fixed are fields that a write may not change.
	fixed [][]string
}

// kinds are made once: the schemas of Kubernetes take a moment to parse.
var kinds = sync.OnceValues(func() (*catalogue, error) {
	c := &catalogue{
		scheme: controllers.Scheme(), byKind: map[schema.GroupKind]*kind{},
		mapper: meta.NewDefaultRESTMapper(nil),
	}
	own := terdut.NewTypeConverter(c.scheme)
	builtIn := clientac.NewTypeConverter(c.scheme)
	for _, k := range []*kind{
		{gvk: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, resource: "namespaces", status: true},
		{gvk: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, resource: "secrets", namespaced: true, fixed: [][]string{{"type"}}},
		{gvk: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, resource: "services", namespaced: true, status: true},
		{gvk: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, resource: "pods", namespaced: true, status: true},
		{
			gvk: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, resource: "deployments",
			namespaced: true, status: true, counts: true, fixed: [][]string{{"spec", "selector"}},
		},
		{gvk: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, resource: "replicasets", namespaced: true, status: true, counts: true},
	} {
		if err := c.add(k, builtIn); err != nil {
			return nil, err
		}
	}
	// What other operators define has no schema here: nobody but a test writes it.
	deduced := managedfields.NewDeducedTypeConverter()
	for _, k := range []*kind{
		{gvk: schema.GroupVersionKind{Group: "postgresql.cnpg.io", Version: "v1", Kind: "Cluster"}, resource: "clusters", namespaced: true, status: true, counts: true},
		{gvk: schema.GroupVersionKind{Group: "acid.zalan.do", Version: "v1", Kind: "postgresql"}, resource: "postgresqls", namespaced: true, status: true, counts: true},
	} {
		if err := c.add(k, deduced); err != nil {
			return nil, err
		}
	}
	definitions, err := crd.All()
	if err != nil {
		return nil, err
	}
	for _, raw := range definitions {
		k, err := custom(raw)
		if err != nil {
			return nil, err
		}
		if err := c.add(k, own); err != nil {
			return nil, err
		}
	}
	return c, nil
})

// catalogue is every kind that the world serves. It never changes once made.
type catalogue struct {
	scheme *runtime.Scheme
	mapper *meta.DefaultRESTMapper
	byKind map[schema.GroupKind]*kind
	// order is that in which steps go over the kinds.
	order []*kind
}

func (c *catalogue) add(k *kind, converter managedfields.TypeConverter) error {
	k.managers = map[string]*managedfields.FieldManager{}
	for _, sub := range []string{"", "status"} {
		manager, err := managedfields.NewDefaultFieldManager(converter, asIs{}, asIs{}, asIs{}, k.gvk, k.gvk.GroupVersion(), sub, nil)
		if err != nil {
			return fmt.Errorf("make the field manager of %s: %w", k.gvk, err)
		}
		k.managers[sub] = manager
	}
	var scope meta.RESTScope = meta.RESTScopeRoot
	if k.namespaced {
		scope = meta.RESTScopeNamespace
	}
	plural := k.gvk.GroupVersion().WithResource(k.resource)
	c.mapper.AddSpecific(k.gvk, plural, plural, scope)
	c.byKind[k.gvk.GroupKind()] = k
	c.order = append(c.order, k)
	return nil
}

// custom reads a definition.
func custom(definition *unstructured.Unstructured) (*kind, error) {
	v1 := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(definition.Object, v1); err != nil {
		return nil, fmt.Errorf("read definition %s: %w", definition.GetName(), err)
	}
	version := &v1.Spec.Versions[0]
	return &kind{
		gvk:      schema.GroupVersionKind{Group: v1.Spec.Group, Version: version.Name, Kind: v1.Spec.Names.Kind},
		resource: v1.Spec.Names.Plural, namespaced: v1.Spec.Scope == apiextensionsv1.NamespaceScoped,
		status: true, counts: true, schema: version.Schema.OpenAPIV3Schema,
	}, nil
}

// asIs converts nothing: an object has one version here.
type asIs struct{}

// Convert implements runtime.ObjectConvertor.
func (asIs) Convert(_, _, _ any) error {
	return fmt.Errorf("convert: every object has one version here")
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (asIs) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (asIs) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default implements runtime.ObjectDefaulter.
func (asIs) Default(runtime.Object) {}

// New implements runtime.ObjectCreater.
func (asIs) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}
