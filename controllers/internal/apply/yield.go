package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// beforeFirstApply is the name under which the API server books the fields of an object that had no managedFields when
// somebody applied to it. It is nobody.
const beforeFirstApply = "before-first-apply"

// anyElement in a Pattern stands for one element of any name, key or value.
const anyElement = "*"

// Pattern names a field, or all that is inside of it, by the names on the way: "*" is any one name or item of a list.
type Pattern []string

// DefaultYieldable returns the fields that are left to whoever else sets them, by kind: probes and resources of
// containers, which people and autoscalers tune, and the annotation by which kubectl restarts pods.
func DefaultYieldable() map[schema.GroupKind][]Pattern {
	template := func(path ...string) Pattern { return append(Pattern{"spec", "template"}, path...) }
	patterns := []Pattern{template("metadata", "annotations", "kubectl.kubernetes.io/restartedAt")}
	for _, list := range []string{"containers", "initContainers"} {
		for _, field := range []string{"livenessProbe", "readinessProbe", "startupProbe", "resources"} {
			patterns = append(patterns, template("spec", list, anyElement, field))
		}
	}
	yieldable := map[schema.GroupKind][]Pattern{}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		yieldable[schema.GroupKind{Group: "apps", Kind: kind}] = patterns
	}
	return yieldable
}

// matches tells whether the pattern names the path or something that it is inside of.
func (p Pattern) matches(path fieldpath.Path) bool {
	if len(path) < len(p) || len(p) == 0 {
		return false
	}
	for i, name := range p {
		if name != anyElement && (path[i].FieldName == nil || *path[i].FieldName != name) {
			return false
		}
	}
	return true
}

// unit returns the yieldable field that the path is a part of.
func (e *Engine) unit(gvk schema.GroupVersionKind, path fieldpath.Path) (fieldpath.Path, bool) {
	for _, pattern := range e.yieldable[gvk.GroupKind()] {
		if pattern.matches(path) {
			return path[:len(pattern)], true
		}
	}
	return nil, false
}

// left are fields of an intent that are not applied now.
type left struct {
	paths  []fieldpath.Path
	fields []FieldDrift
}

func (l *left) add(path fieldpath.Path, field FieldDrift) {
	l.paths = append(l.paths, path)
	l.fields = append(l.fields, field)
}

// ceded returns those fields of the intent that are left to their managers: yieldable ones that another manager has with
// another value, and those that are missing next to one that it has. Who changes the sort of a probe removes a field and
// adds another, and only what was added has an owner.
func (e *Engine) ceded(seen observation, want *intent, entries []metav1.ManagedFieldsEntry) (left, error) {
	if len(e.yieldable[want.key.gvk().GroupKind()]) == 0 {
		return left{}, nil
	}
	managers := slices.DeleteFunc(others(entries), func(m managed) bool {
		return m.entry.Manager == FieldManager || m.entry.Manager == beforeFirstApply
	})
	wanted, err := want.fields.ToFieldSet()
	if err != nil || len(managers) == 0 {
		return left{}, err
	}
	holder := holderOf
	if !e.schemas.knows(want.key.gvk()) {
		// What is a single field is only known to the API server.
		holder = attributePath
	}
	ceded := left{}
	wanted.Leaves().Iterate(func(path fieldpath.Path) {
		unit, yields := e.unit(want.key.gvk(), path)
		if !yields {
			return
		}
		path = path.Copy()
		current, exists := valueAt(seen.live.AsValue(), path)
		if !exists {
			if field := holder(unit, managers); field.Manager != "" {
				field.Path = formatPath(path)
				ceded.add(path, field)
			}
			return
		}
		wantedValue, named := valueAt(want.fields.AsValue(), path)
		if field := holder(path, managers); field.Manager != "" && named && !value.Equals(wantedValue, current) {
			ceded.add(path, field)
		}
	})
	return ceded, nil
}

// without returns the intent without the fields that are left to others. Its hash stays: what is wanted has not changed.
func (e *Engine) without(want *intent, paths []fieldpath.Path) (*intent, error) {
	content := want.content.DeepCopy()
	for _, path := range paths {
		removeAt(content.Object, path)
	}
	whole, err := e.schemas.typed(content, want.key.gvk())
	if err != nil {
		return nil, err
	}
	less := *want
	less.content, less.fields = content, whole.RemoveItems(identityFields)
	return &less, nil
}
