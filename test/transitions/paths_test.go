package transitions_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// fields is an object in a manifest.
type fields = map[string]any

var token = regexp.MustCompile(`[^.\[\]{}]+|\[\]|\{\}`)

// look is the value at a path, and whether it is there; [] is the first item of a
// list and {} the value of the first key of a map.
func look(root any, path string) (any, bool) {
	value := root
	for _, at := range token.FindAllString(path, -1) {
		var there bool
		if value, there = step(value, at); !there {
			return nil, false
		}
	}
	return value, true
}

func step(parent any, at string) (any, bool) {
	switch parent := parent.(type) {
	case []any:
		if at != "[]" || len(parent) == 0 {
			return nil, false
		}
		return parent[0], true
	case fields:
		value, there := parent[keyOf(parent, at)]
		return value, there
	}
	return nil, false
}

func keyOf(parent fields, at string) string {
	if at != "{}" {
		return at
	}
	if keys := slices.Sorted(maps.Keys(parent)); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// gone as a value takes a field away.
type gone struct{}

// with is a copy in which the path has that value. What is missing on the way to
// it is made.
func with(spec fields, path string, value any) fields {
	spec = runtime.DeepCopyJSON(spec)
	set(spec, token.FindAllString(path, -1), value)
	return spec
}

func set(parent any, path []string, value any) {
	if list, is := parent.([]any); is {
		if len(path) == 1 {
			list[0] = value
			return
		}
		set(list[0], path[1:], value)
		return
	}
	object := parent.(fields)
	key := keyOf(object, path[0])
	if len(path) > 1 {
		if object[key] == nil {
			object[key] = fields{}
		}
		set(object[key], path[1:], value)
		return
	}
	if _, remove := value.(gone); remove {
		delete(object, key)
		return
	}
	object[key] = runtime.DeepCopyJSONValue(value)
}

// canonical is the same text for the same value.
func canonical(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was read from JSON
	}
	return string(text)
}
