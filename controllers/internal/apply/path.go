package apply

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// removeAt removes what the path names, and every parent that is empty then. It returns what is left, or nil.
func removeAt(content any, path fieldpath.Path) any {
	if len(path) == 0 {
		return nil
	}
	switch content := content.(type) {
	case map[string]any:
		name := path[0].FieldName
		if name == nil {
			return content
		}
		if inner, found := content[*name]; found {
			delete(content, *name)
			if rest := removeAt(inner, path[1:]); rest != nil {
				content[*name] = rest
			}
		}
		if len(content) == 0 {
			return nil
		}
		return content
	case []any:
		i := indexOf(path[0], len(content), func(i int) any { return content[i] })
		if i < 0 {
			return content
		}
		if content[i] = removeAt(content[i], path[1:]); content[i] == nil {
			content = slices.Delete(content, i, i+1)
		}
		if len(content) == 0 {
			return nil
		}
		return content
	}
	return content
}

// valueAt returns what the path names.
func valueAt(v value.Value, path fieldpath.Path) (value.Value, bool) {
	for _, element := range path {
		var found bool
		switch {
		case v == nil || v.IsNull():
			return nil, false
		case element.FieldName != nil && v.IsMap():
			v, found = v.AsMap().Get(*element.FieldName)
		case element.FieldName == nil && v.IsList():
			v, found = itemOf(v.AsList(), element)
		}
		if !found {
			return nil, false
		}
	}
	return v, true
}

func itemOf(list value.List, element fieldpath.PathElement) (value.Value, bool) {
	i := indexOf(element, list.Length(), func(i int) any { return list.At(i).Unstructured() })
	if i < 0 {
		return nil, false
	}
	return list.At(i), true
}

// indexOf returns the index of the list item that the element selects, or -1. An intent may leave a key to its default, as
// the protocol of a port: if no item has all keys, one that has the others is it.
func indexOf(element fieldpath.PathElement, length int, item func(int) any) int {
	for _, matches := range []func(fieldpath.PathElement, any) bool{selects, selectsByDefault} {
		for i := range length {
			if matches(element, item(i)) {
				return i
			}
		}
	}
	return -1
}

func selectsByDefault(element fieldpath.PathElement, item any) bool {
	fields, isMap := item.(map[string]any)
	if !isMap || element.Key == nil {
		return false
	}
	for _, key := range *element.Key {
		if field, found := fields[key.Name]; found && !value.Equals(value.NewValueInterface(field), key.Value) {
			return false
		}
	}
	return true
}
