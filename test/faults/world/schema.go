package world

import (
	"encoding/json"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// complete drops from a custom resource what its schema does not know, and
// fills in the defaults, outer ones first, as the API server does. The API
// server's own code for that would bring its whole library along.
func (k *kind) complete(object map[string]any) {
	if k.schema == nil {
		return
	}
	for name := range k.schema.Properties {
		if value, ok := object[name]; ok && name != "metadata" {
			object[name] = completed(value, property(k.schema, name))
		}
	}
	fill(object, k.schema)
}

// valid tells, for a custom resource that is complete, which fields it has to
// have and has not. Nothing else is checked here: what people write is checked by
// the tests of the definitions.
func (k *kind) valid(name string, object map[string]any) error {
	var wrong field.ErrorList
	switch {
	case k.gvk.Kind == "Deployment":
		wrong = rollsAndDoesNot(object)
	case k.schema != nil:
		wrong = lacking(object, k.schema, nil)
	}
	if len(wrong) > 0 {
		return apierrors.NewInvalid(k.gvk.GroupKind(), name, wrong)
	}
	return nil
}

// lacking are the required fields that a value does not have.
func lacking(value any, s *apiextensionsv1.JSONSchemaProps, at *field.Path) (out field.ErrorList) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range s.Required {
			if _, there := value[name]; !there {
				out = append(out, field.Required(at.Child(name), ""))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if declares(s, name) {
				out = append(out, lacking(value[name], property(s, name), at.Child(name))...)
			}
		}
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return nil
		}
		for i := range value {
			out = append(out, lacking(value[i], s.Items.Schema, at.Index(i))...)
		}
	}
	return out
}

// completed is a value as it is stored.
func completed(value any, s *apiextensionsv1.JSONSchemaProps) any { //nolint:gocyclo // one case for each way in which a schema speaks of a value
	switch value := value.(type) {
	case map[string]any:
		for name, item := range value {
			switch {
			case item == nil && !declares(s, name):
				delete(value, name)
			case len(s.Properties) > 0 && declares(s, name):
				if item == nil && !property(s, name).Nullable {
					delete(value, name) // a null asks for the default
					continue
				}
				value[name] = completed(item, property(s, name))
			case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
				value[name] = completed(item, s.AdditionalProperties.Schema)
			case len(s.Properties) > 0 && (s.XPreserveUnknownFields == nil || !*s.XPreserveUnknownFields):
				delete(value, name)
			}
		}
		fill(value, s)
	case []any:
		if s.Items != nil && s.Items.Schema != nil {
			for i := range value {
				value[i] = completed(value[i], s.Items.Schema)
			}
		}
	}
	return value
}

// fill sets the defaults of what an object does not have.
func fill(object map[string]any, s *apiextensionsv1.JSONSchemaProps) {
	for name := range s.Properties {
		p := property(s, name)
		if _, there := object[name]; there || p.Default == nil {
			continue
		}
		var value any
		if json.Unmarshal(p.Default.Raw, &value) == nil {
			object[name] = completed(whole(value), p)
		}
	}
}

// whole turns the numbers of decoded JSON that have no fraction into integers,
// which is how objects hold them.
func whole(value any) any {
	switch value := value.(type) {
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	case map[string]any:
		for name := range value {
			value[name] = whole(value[name])
		}
	case []any:
		for i := range value {
			value[i] = whole(value[i])
		}
	}
	return value
}

func declares(s *apiextensionsv1.JSONSchemaProps, name string) bool {
	_, ok := s.Properties[name]
	return ok
}

func property(s *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	p := s.Properties[name]
	return &p
}
