package transitions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// flat writes a value as one line for each place in it that has nothing inside.
func flat(into []string, at string, value any) []string {
	switch value := value.(type) {
	case fields:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			into = flat(into, strings.TrimPrefix(at+" / "+key, " / "), value[key])
		}
		if len(value) > 0 {
			return into
		}
	case []any:
		for i := range value {
			into = flat(into, fmt.Sprintf("%s[%d]", at, i), value[i])
		}
		if len(value) > 0 {
			return into
		}
	}
	return append(into, fmt.Sprintf("%s: %v", at, value))
}

// lines are what was seen of a world, without its names of namespaces.
func (w *world) lines(all fields) ([]string, error) {
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("write down what was seen: %w", err)
	}
	same := strings.NewReplacer(w.platform, "$(platform)", w.tenant, "$(tenant)").Replace(string(text))
	var bare fields
	if err = json.Unmarshal([]byte(identity.ReplaceAllStringFunc(same, unidentified)), &bare); err != nil {
		return nil, fmt.Errorf("write down what was seen: %w", err)
	}
	return flat(nil, "", bare), nil
}

// identity is what stands in names for one object: a UID or a hash. The digest of
// an image is none.
var identity = regexp.MustCompile(`(sha256:)?\b([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8,})\b`)

func unidentified(name string) string {
	if strings.HasPrefix(name, "sha256:") {
		return name
	}
	return "#"
}

// differ tells how two worlds differ; empty when they do not, and the operator has
// answered in both.
func differ(ctx context.Context, got, want *world) string {
	a, b, open := outcomes(ctx, got, want)
	if open != "" {
		return open
	}
	return difference(b, a)
}

// outcomes are what two worlds have come to, or why that cannot be said yet.
func outcomes(ctx context.Context, got, want *world) (a, b []string, open string) {
	for _, w := range []*world{got, want} {
		if open = w.seenNow(ctx); open != "" {
			return nil, nil, open
		}
	}
	a, err := got.outcome(ctx)
	if err != nil {
		return nil, nil, err.Error()
	}
	if b, err = want.outcome(ctx); err != nil {
		return nil, nil, err.Error()
	}
	return a, b, ""
}

// difference shows the lines that differ.
func difference(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	lines := append(missing("- ", want, got), missing("+ ", got, want)...)
	return "- as created, + as changed:\n    " + strings.Join(lines, "\n    ")
}

// missing are the lines of one that the other one lacks, with a mark.
func missing(mark string, one, other []string) []string {
	var out []string
	for _, line := range one {
		if !slices.Contains(other, line) {
			out = append(out, mark+line)
		}
	}
	return out
}
