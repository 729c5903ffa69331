package server

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// specSchema is the schema of a TerdutServer's spec.
func specSchema(t testing.TB) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	raw, err := os.ReadFile(crdPath)
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err = yaml.Unmarshal(raw, definition); err != nil {
		t.Fatal(err)
	}
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	return &spec
}

// words are strings of the sorts that patterns and types ask for.
var words = []string{
	"terdut", "5m", "1000m", "1024Mi", "1.5Gi", "24h", "http", "HTTP", "https://terdut.example.com", "terdut.example.com", "/healthz",
	"postgres://terdut@db:5432/terdut?sslmode=verify-full", "v1.2.3", "TERDUT_X", "app.kubernetes.io/name", "$(HOME)", "critical", "a=b,c=d", "0", "größe",
}

// drawing draws values that a schema allows. What it draws is given by the
// seed; when that is at its end, it draws the least.
type drawing struct {
	seed []byte
	text string
}

// deepest bounds schemas that hold themselves.
const deepest = 12

// next draws a number below n.
func (d *drawing) next(n int) int {
	if len(d.seed) == 0 || n <= 1 {
		return 0
	}
	b := d.seed[0]
	d.seed = d.seed[1:]
	return int(b) % n
}

// value draws a value; nil is none that the schema allows.
func (d *drawing) value(s *apiextensionsv1.JSONSchemaProps, depth int) any {
	if depth > deepest {
		return nil
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[d.next(len(s.Enum))]
	case s.XIntOrString:
		return d.word(s)
	case s.Type == "object":
		return d.object(s, depth)
	case s.Type == "array":
		return d.array(s, depth)
	case s.Type == "string":
		return d.word(s)
	case s.Type == "integer":
		return d.integer(s)
	case s.Type == "boolean":
		return d.next(2) == 1
	}
	return nil
}

func (d *drawing) object(s *apiextensionsv1.JSONSchemaProps, depth int) any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		required := slices.Contains(s.Required, name)
		if !required && d.next(3) == 0 {
			continue
		}
		property := s.Properties[name]
		value := d.value(&property, depth+1)
		// The API server refuses a Deployment where a list that must be there is empty.
		if list, ok := value.([]any); required && (value == nil || ok && len(list) == 0) {
			return nil
		}
		if value != nil {
			out[name] = value
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		d.entries(out, s.AdditionalProperties.Schema, depth)
	}
	return out
}

// entries draws entries of a map.
func (d *drawing) entries(into map[string]any, of *apiextensionsv1.JSONSchemaProps, depth int) {
	for range d.next(3) {
		name := words[d.next(len(words))]
		if value := d.value(of, depth+1); value != nil {
			into[name] = value
		}
	}
}

func (d *drawing) array(s *apiextensionsv1.JSONSchemaProps, depth int) any {
	least, most := 0, 3
	if s.MinItems != nil {
		least = int(*s.MinItems)
	}
	if s.MaxItems != nil {
		most = min(most, int(*s.MaxItems))
	}
	out := []any{}
	for range least + d.next(most-least+1) {
		if item := d.value(s.Items.Schema, depth+1); item != nil {
			out = append(out, item)
		}
	}
	if len(out) < least {
		return nil
	}
	return out
}

func (d *drawing) integer(s *apiextensionsv1.JSONSchemaProps) any {
	least, most := int64(0), int64(1<<31-1)
	if s.Minimum != nil {
		least = int64(*s.Minimum)
	}
	if s.Maximum != nil {
		most = int64(*s.Maximum)
	}
	return []int64{least, min(least+1, most), most, min(least+int64(d.next(256)), most)}[d.next(4)]
}

// word draws a string that fits. A type of Kubernetes' own, whose strings have no
// bound, has no empty one: the API server would refuse the Deployment.
func (d *drawing) word(s *apiextensionsv1.JSONSchemaProps) any {
	first := d.next(len(words) + 2)
	pool := append([]string{d.text, ""}, words...)
	for i := range pool {
		word := pool[(first+i)%len(pool)]
		length := int64(utf8.RuneCountInString(word))
		switch {
		case !utf8.ValidString(word), word == "" && s.MaxLength == nil, s.MinLength != nil && length < *s.MinLength, s.MaxLength != nil && length > *s.MaxLength:
		case s.Pattern != "" && !matches(s.Pattern, word):
		default:
			return word
		}
	}
	return nil
}

var patterns = map[string]*regexp.Regexp{}

func matches(pattern, word string) bool {
	if patterns[pattern] == nil {
		patterns[pattern] = regexp.MustCompile(pattern)
	}
	return patterns[pattern].MatchString(word)
}
