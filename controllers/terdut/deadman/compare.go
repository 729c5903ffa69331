package deadman

import (
	"slices"
	"strings"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/remote"
)

// differs names the fields that separate two switches, read by value: 15m and
// 15m0s are the same time, and the order of a matcher's pairs means nothing. A
// switch made anew starts its timer over, so spelling must never be a reason.
func differs(want, got body) remote.Difference {
	d := remote.Difference{Replace: true}
	if !slices.Equal(pairs(want.matcher), pairs(got.matcher)) {
		d.Fields = append(d.Fields, "matcher")
	}
	if !sameTime(want.timeout, got.timeout) {
		d.Fields = append(d.Fields, "timeout")
	}
	if want.severity != got.severity {
		d.Fields = append(d.Fields, "severity")
	}
	return d
}

func sameTime(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	if errX != nil || errY != nil {
		return a == b
	}
	return x == y
}

// pairs reads a matcher: its pairs in order of their text, without the spaces
// around them and the quotes around a value.
func pairs(matcher string) []string {
	var out []string
	for _, part := range splitOutsideQuotes(matcher) {
		label, value, _ := strings.Cut(part, "=")
		value = strings.TrimSpace(value)
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		if label = strings.TrimSpace(label); label != "" {
			out = append(out, label+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

func splitOutsideQuotes(s string) []string {
	quoted := false
	return strings.FieldsFunc(s, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ',' && !quoted
	})
}
