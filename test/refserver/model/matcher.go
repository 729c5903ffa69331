package model

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// matcher is a set of labels that an alert must carry, all of them, exactly.
type matcher map[string]string

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// parseMatcher reads comma separated label=value pairs; a value with a comma, a space at its end or a quote stands in
// double quotes, escaped as in Go.
func parseMatcher(text string) (matcher, error) {
	m := matcher{}
	rest := strings.TrimSpace(text)
	if rest == "" {
		return nil, errors.New("is empty; give comma separated label=value pairs")
	}
	for {
		label, after, found := strings.Cut(rest, "=")
		label = strings.TrimSpace(label)
		if !found || !labelName.MatchString(label) {
			return nil, errors.New("is not a list of comma separated label=value pairs")
		}
		if _, twice := m[label]; twice {
			return nil, fmt.Errorf("names the label %s twice", label)
		}
		value, next, err := cutValue(strings.TrimLeft(after, " "))
		if err != nil {
			return nil, err
		}
		m[label] = value
		if next == "" {
			return m, nil
		}
		rest = next[1:] // the comma
	}
}

// cutValue splits a value from what follows, which is empty or begins with a comma.
func cutValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		value = text
		if comma := strings.IndexByte(text, ','); comma >= 0 {
			value, rest = text[:comma], text[comma:]
		}
		return strings.TrimSpace(value), rest, nil
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", errors.New("has a quoted value that does not end")
	}
	if value, err = strconv.Unquote(quoted); err != nil {
		return "", "", errors.New("has a quoted value with a bad escape")
	}
	rest = strings.TrimSpace(text[len(quoted):])
	if rest != "" && rest[0] != ',' {
		return "", "", errors.New("has something other than a comma after a quoted value")
	}
	return value, rest, nil
}

func (m matcher) matches(labels map[string]string) bool {
	for label, value := range m {
		if labels[label] != value {
			return false
		}
	}
	return true
}
