package cel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The kinds, as the manifests name them.
const (
	server      = "TerdutServer"
	team        = "TerdutTeam"
	escalation  = "TerdutEscalationRule"
	deadman     = "TerdutDeadmanSwitch"
	alertSource = "TerdutAlertSource"
)

var kinds = []string{server, team, escalation, deadman, alertSource}

// base is a valid object of the kind with every field set that can be set together with the others.
func base(kind string) *unstructured.Unstructured {
	content, err := os.ReadFile(filepath.Join("testdata", strings.ToLower(kind)+".yaml"))
	Expect(err).NotTo(HaveOccurred())
	return decode(content)
}

func decode(content []byte) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	asJSON, err := yaml.YAMLToJSONStrict(content)
	Expect(err).NotTo(HaveOccurred(), "%s", content)
	Expect(object.UnmarshalJSON(asJSON)).To(Succeed())
	return object
}

// edit is one change of an object. Paths are written as the API server writes them: spec.levels[0].timeout.
type edit struct {
	path   string
	value  any
	remove bool
}

func set(path string, value any) edit { return edit{path: path, value: value} }
func unset(path string) edit          { return edit{path: path, remove: true} }

// fields is an object in a manifest.
type fields = map[string]any

// text says what the edit does, short enough for the name of a spec.
func (e edit) text() string {
	if e.remove {
		return "no " + e.path
	}
	value, err := json.Marshal(e.value)
	if err != nil {
		value = []byte(err.Error())
	}
	const most = 70
	if len(value) > most {
		value = fmt.Appendf(value[:most:most], "... (%d bytes)", len(value))
	}
	return fmt.Sprintf("%s: %s", e.path, value)
}

func textOf(edits []edit) string {
	if len(edits) == 0 {
		return "as it is"
	}
	texts := make([]string, 0, len(edits))
	for _, e := range edits {
		texts = append(texts, e.text())
	}
	return strings.Join(texts, ", ")
}

// apply changes the object in place. What a path leads through is made where it is missing; indices must exist.
func apply(object *unstructured.Unstructured, edits []edit) {
	for _, e := range edits {
		steps := stepsOf(e.path)
		parent := any(object.Object)
		for _, at := range steps[:len(steps)-1] {
			parent = child(parent, at)
		}
		last := steps[len(steps)-1]
		switch at := last.(type) {
		case int:
			parent.([]any)[at] = normal(e.value)
		case string:
			if e.remove {
				delete(parent.(fields), at)
				continue
			}
			parent.(fields)[at] = normal(e.value)
		}
	}
}

func child(parent, at any) any {
	if index, ok := at.(int); ok {
		return parent.([]any)[index]
	}
	object := parent.(fields)
	if object[at.(string)] == nil {
		object[at.(string)] = fields{}
	}
	return object[at.(string)]
}

var step = regexp.MustCompile(`[^.\[\]]+`)

// stepsOf splits a path into names (string) and indices (int).
func stepsOf(path string) []any {
	var steps []any
	for _, word := range step.FindAllString(path, -1) {
		if index, err := strconv.Atoi(word); err == nil {
			steps = append(steps, index)
			continue
		}
		steps = append(steps, word)
	}
	return steps
}

// lookup is the value at the path, nil where there is none.
func lookup(object *unstructured.Unstructured, path string) any {
	value := any(object.Object)
	for _, at := range stepsOf(path) {
		switch parent := value.(type) {
		case []any:
			index := at.(int)
			if index >= len(parent) {
				return nil
			}
			value = parent[index]
		case fields:
			value = parent[at.(string)]
		default:
			return nil
		}
	}
	return value
}

// normal is the value as JSON decoding would have made it, without any part shared with value.
func normal(value any) any {
	content, err := json.Marshal(fields{"value": value})
	Expect(err).NotTo(HaveOccurred())
	wrapper := &unstructured.Unstructured{}
	content = []byte(`{"apiVersion":"v1","kind":"Value",` + string(content[1:]))
	Expect(wrapper.UnmarshalJSON(content)).To(Succeed())
	return wrapper.Object["value"]
}
