package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// immutableFields can be set when the object is made and never again. What the API server says when one changes is prose,
// so they are compared before.
var immutableFields = map[schema.GroupKind][][]string{
	{Group: "apps", Kind: "Deployment"}:  {{"spec", "selector"}},
	{Group: "apps", Kind: "DaemonSet"}:   {{"spec", "selector"}},
	{Group: "apps", Kind: "StatefulSet"}: {{"spec", "selector"}, {"spec", "serviceName"}, {"spec", "podManagementPolicy"}},
	{Group: "", Kind: "Secret"}:          {{"type"}},
	{Group: "", Kind: "Service"}:         {{"spec", "clusterIP"}, {"spec", "clusterIPs"}},

	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        {{"roleRef"}},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: {{"roleRef"}},
}

// sealable kinds have a field "immutable", with which anybody may forbid all further changes of their content.
var sealable = map[schema.GroupKind][]string{
	{Kind: "Secret"}:    {"data", "stringData", "immutable"},
	{Kind: "ConfigMap"}: {"data", "binaryData", "immutable"},
}

// immutable returns the first immutable field that the intent wants to be different.
func immutable(diff difference, want *intent) (string, bool) {
	live := diff.live
	if seal, sealed := lookUp(live.AsValue(), []string{"immutable"}); sealed && seal.IsBool() && seal.AsBool() {
		for _, field := range sealable[want.key.gvk().GroupKind()] {
			if changes(diff, want, field) {
				return field, true
			}
		}
	}
	for _, path := range immutableFields[want.key.gvk().GroupKind()] {
		wanted, isWanted := lookUp(want.fields.AsValue(), path)
		current, exists := lookUp(live.AsValue(), path)
		if isWanted && exists && !value.Equals(wanted, current) {
			return joinFields(path), true
		}
	}
	return "", false
}

func lookUp(v value.Value, path []string) (value.Value, bool) {
	for _, name := range path {
		if v == nil || !v.IsMap() {
			return nil, false
		}
		var found bool
		if v, found = v.AsMap().Get(name); !found {
			return nil, false
		}
	}
	return v, true
}

// changes tells whether an apply would change the content of the field or something inside of it. That we lost one without
// a change of its value is none.
func changes(diff difference, want *intent, field string) bool {
	for _, path := range diff.paths {
		if len(path) == 0 || path[0].FieldName == nil || *path[0].FieldName != field {
			continue
		}
		wanted, isWanted := valueAt(want.fields.AsValue(), path)
		current, exists := valueAt(diff.live.AsValue(), path)
		if isWanted != exists || isWanted && !value.Equals(wanted, current) {
			return true
		}
	}
	return false
}
