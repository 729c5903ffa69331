package transitions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// wrong is a spec that the schema takes and that makes no sense, or only looks so.
type wrong struct {
	kind, base, what string
	// reason is one that the conditions have to give after a change, created after
	// a creation; Ready for what only looks so.
	reason, created string
	// beside is true for a condition that does not count for Ready.
	beside      bool
	start, spec fields
}

func (c wrong) title() string { return c.kind + " with " + c.what }

// repeated is a text that stands in the samples for many of one character.
var repeated = regexp.MustCompile(`\$\((\S) x ([0-9]+)\)`)

// wrongs are the samples of testdata/wrong.yaml.
func wrongs() ([]wrong, error) {
	content, err := os.ReadFile(filepath.Join("testdata", "wrong.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read what makes no sense: %w", err)
	}
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, fmt.Errorf("read what makes no sense: %w", err)
	}
	text := repeated.ReplaceAllStringFunc(string(asJSON), func(found string) string {
		parts := repeated.FindStringSubmatch(found)
		count, _ := strconv.Atoi(parts[2]) // it is made of digits
		return strings.Repeat(parts[1], count)
	})
	var raw map[string][]fields
	if err = utiljson.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("read what makes no sense: %w", err)
	}
	var out []wrong
	for _, kind := range kinds {
		all, err := samplesOf(kind)
		if err != nil {
			return nil, err
		}
		for _, one := range raw[kind] {
			c := wrong{kind: kind, base: "main", what: fmt.Sprint(one["what"]), reason: fmt.Sprint(one["reason"])}
			if base, is := one["base"].(string); is {
				c.base = base
			}
			c.beside, _ = one["beside"].(bool)
			c.created = c.reason
			if created, is := one["created"].(string); is {
				c.created = created
			}
			c.start = all.Bases[c.base]
			c.spec = c.start
			for path, value := range one["set"].(fields) {
				if value == nil {
					value = gone{}
				}
				c.spec = with(c.spec, path, value)
			}
			out = append(out, c)
		}
	}
	return out, nil
}
