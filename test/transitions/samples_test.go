package transitions_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// kinds in the order of their dependence.
var kinds = []string{"TerdutServer", "TerdutTeam", "TerdutEscalationRule", "TerdutDeadmanSwitch", "TerdutAlertSource"}

// sample says with which values a field is tried.
type sample struct {
	// Base is the spec that everything else comes from; main when empty.
	Base string `json:"base"`
	// At is where a and b go; the path of the field when empty.
	At string `json:"at"`
	// With are other fields that have to be otherwise than in the base.
	With fields `json:"with"`
	// A is the value before; that of the base when absent. B is the one after,
	// which enumerations, numbers and booleans do not need.
	A any `json:"a"`
	B any `json:"b"`
	// Push is one more item of a list, or one more entry of a map.
	Push any `json:"push"`
	// Whole is true for a type of Kubernetes that is passed on as it is: what is
	// inside is not tried one by one.
	Whole bool `json:"whole"`
	// Inert is why no change of the field shows here.
	Inert string `json:"inert"`
	// History is why what was before a change shows afterwards. The way back is
	// tried all the same.
	History string `json:"history"`
	// Past are the steps that History is about; all when empty.
	Past []string `json:"past"`
	// Unfit are steps to a value that the schema takes and nobody else does, with
	// the reason that stands in the conditions then: what was applied before stays.
	Unfit map[string]string `json:"unfit"`
}

type samples struct {
	Bases  map[string]fields `json:"bases"`
	Fields map[string]sample `json:"fields"`
}

func samplesOf(kind string) (*samples, error) {
	content, err := os.ReadFile(filepath.Join("testdata", strings.ToLower(kind)+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the samples of %s: %w", kind, err)
	}
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, fmt.Errorf("read the samples of %s: %w", kind, err)
	}
	into, raw := &samples{}, fields{}
	if err = utiljson.Unmarshal(asJSON, &raw); err != nil {
		return nil, fmt.Errorf("read the samples of %s: %w", kind, err)
	}
	// Numbers have to be whole as they are in objects; the decoder of structs
	// makes floats of them.
	if err = yaml.UnmarshalStrict(content, into); err != nil {
		return nil, fmt.Errorf("read the samples of %s: %w", kind, err)
	}
	for name := range into.Bases {
		into.Bases[name] = raw["bases"].(fields)[name].(fields)
	}
	for path, s := range into.Fields {
		exact := raw["fields"].(fields)[path].(fields)
		s.A, s.B, s.Push = exact["a"], exact["b"], exact["push"]
		into.Fields[path] = s
	}
	return into, nil
}

// group is one field with everything that is tried on it.
type group struct {
	kind, path, base string
	sample           sample
	start            fields
	steps            []change
}

// change is one step: the spec that it leads to.
type change struct {
	name string
	spec fields
}

// groupsOf are all fields of a kind, and what is wrong with the samples.
func groupsOf(kind string) (groups []group, problems []string) {
	nodes, err := schemaOf(kind)
	if err != nil {
		return nil, []string{err.Error()}
	}
	all, err := samplesOf(kind)
	if err != nil {
		return nil, []string{err.Error()}
	}
	left := maps.Clone(all.Fields)
	whole := ""
	for _, n := range nodes {
		if whole != "" && within(n.path, whole) {
			continue
		}
		s, has := all.Fields[n.path]
		delete(left, n.path)
		switch {
		case has:
		case strings.HasSuffix(n.path, "[]") && n.isObject():
			continue // the list and the fields of its items are tried
		default:
			problems = append(problems, fmt.Sprintf("%s %s has no sample: add it to testdata/%s.yaml", kind, n.path, strings.ToLower(kind)))
			continue
		}
		if s.Whole {
			whole = n.path
		}
		g, err := newGroup(kind, n, s, all.Bases)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		groups = append(groups, g)
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		problems = append(problems, fmt.Sprintf("%s has no field %s: remove its sample", kind, path))
	}
	return groups, problems
}

// lasts tells whether what was before a step shows after it.
func (s sample) lasts(step string) bool {
	return s.History != "" && (len(s.Past) == 0 || slices.Contains(s.Past, step))
}

func newGroup(kind string, n node, s sample, bases map[string]fields) (group, error) {
	if s.Base == "" {
		s.Base = "main"
	}
	if s.At == "" {
		s.At = n.path
	}
	start := s.start(bases[s.Base])
	a, there := look(start, n.path)
	if !there {
		return group{}, fmt.Errorf("%s %s has no value in base %s: add it there, or give it an a", kind, n.path, s.Base)
	}
	g := group{kind: kind, path: n.path, base: s.Base, sample: s, start: start}
	b := other(n, s, a)
	if b == nil && n.isLeaf() && s.Inert == "" {
		return group{}, fmt.Errorf("%s %s has no second value: give it a b", kind, n.path)
	}
	if b != nil {
		g.steps = append(g.steps, change{"change", with(start, s.At, b)})
	}
	g.steps = append(g.steps, shapes(n, s, a, start)...)
	if !strings.HasSuffix(n.path, "[]") && !strings.HasSuffix(n.path, "{}") {
		g.steps = append(g.steps, change{"remove", with(start, n.path, gone{})})
	}
	g.steps = append(g.steps, change{"zero", with(start, n.path, zero(n))})
	for _, one := range ends(n, a, b) {
		g.steps = append(g.steps, change{one.name, with(start, n.path, one.value)})
	}
	return g, nil
}

// end is a value at one bound of a field, or one more of an enumeration. Whatever else is asked of the value may
// still refuse it, at a creation and at a change alike.
type end struct {
	name  string
	value any
}

func ends(n node, a, b any) []end {
	var out []end
	s := n.schema
	for _, one := range s.Enum {
		if text := strings.Trim(string(one.Raw), `"`); text != a && text != b {
			out = append(out, end{text, text})
		}
	}
	if s.MaxLength != nil && len(s.Enum) == 0 {
		out = append(out, end{"greatest length", strings.Repeat("a", int(*s.MaxLength))})
	}
	if s.Minimum != nil && *s.Minimum != 0 { // zero is tried already
		out = append(out, end{"least", int64(*s.Minimum)})
	}
	if s.Maximum != nil {
		out = append(out, end{"greatest", int64(*s.Maximum)})
	}
	if list, is := a.([]any); is && len(list) > 0 {
		out = append(out, end{"twice the first", append([]any{list[0]}, list...)})
		if s.MaxItems != nil {
			out = append(out, end{"greatest number", slices.Repeat(list[:1], int(*s.MaxItems))})
		}
	}
	return out
}

// start is the spec before a change.
func (s sample) start(base fields) fields {
	start := runtime.DeepCopyJSON(base)
	for path, value := range s.With {
		start = with(start, path, value)
	}
	if s.A != nil {
		start = with(start, s.At, s.A)
	}
	return start
}

// other is the second value of a field, nil where there is none.
func other(n node, s sample, a any) any {
	if s.B != nil {
		return s.B
	}
	for _, one := range n.schema.Enum {
		if text := strings.Trim(string(one.Raw), `"`); text != a {
			return text
		}
	}
	switch a := a.(type) {
	case bool:
		return !a
	case int64:
		return a + 1
	}
	return nil
}

// shapes are the steps that a list or a map has beyond all others.
func shapes(n node, s sample, a any, start fields) []change {
	var steps []change
	add := func(name string, value any) { steps = append(steps, change{name, with(start, n.path, value)}) }
	switch a := a.(type) {
	case []any:
		if s.Push != nil {
			add("push", append(slices.Clone(a), s.Push))
		}
		if len(a) > 1 {
			add("pop", slices.Clone(a[:len(a)-1]))
			reversed := slices.Clone(a)
			slices.Reverse(reversed)
			add("reorder", reversed)
		}
	case fields:
		if n.isMap() {
			if s.Push != nil {
				more := maps.Clone(a)
				maps.Copy(more, s.Push.(fields))
				add("push", more)
			}
			fewer := maps.Clone(a)
			delete(fewer, keyOf(a, "{}"))
			add("pop", fewer)
		}
	}
	return steps
}

func zero(n node) any {
	switch n.schema.Type {
	case "integer":
		return int64(0)
	case "boolean":
		return false
	case "array":
		return []any{}
	case "object":
		return fields{}
	}
	return ""
}
