package deadman

import (
	"slices"
	"strconv"
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
// around them and the quotes around a value, which are escaped as in Go.
func pairs(matcher string) []string {
	var out []string
	for rest := matcher; rest != ""; {
		var part, value string
		part, value, rest = cutPair(rest)
		if label := strings.TrimSpace(part); label != "" {
			out = append(out, label+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// cutPair splits the first pair from what follows its comma.
func cutPair(text string) (label, value, rest string) {
	end := strings.IndexAny(text, "=,")
	if end < 0 {
		return text, "", ""
	}
	label, after := text[:end], text[end+1:]
	if text[end] == ',' {
		return label, "", after // no pair; the server says so
	}
	after = strings.TrimSpace(after)
	if quoted, err := strconv.QuotedPrefix(after); err == nil && after[0] == '"' {
		next := strings.TrimSpace(after[len(quoted):])
		unquoted, err := strconv.Unquote(quoted)
		if err == nil && (next == "" || next[0] == ',') {
			return label, unquoted, strings.TrimPrefix(next, ",")
		}
	}
	value, rest, _ = strings.Cut(after, ",")
	return label, strings.TrimSpace(value), rest
}
