package model

import (
	"maps"
	"testing"
)

func TestMatcher(t *testing.T) {
	for text, want := range map[string]matcher{
		"a=1":                        {"a": "1"},
		" a = 1 , b=2 ":              {"a": "1", "b": "2"},
		`a="1, 2",b="say \"x\" = y"`: {"a": "1, 2", "b": `say "x" = y`},
		"a=":                         {"a": ""},
		"a=b=c":                      {"a": "b=c"},
	} {
		got, err := parseMatcher(text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("parseMatcher(%q) = %v, %v", text, got, err)
		}
	}
	m := matcher{"a": "1", "b": "2"}
	if !m.matches(map[string]string{"a": "1", "b": "2", "c": "3"}) || m.matches(map[string]string{"a": "1"}) {
		t.Error("all labels must match, and no others count")
	}
}

func FuzzMatcher(f *testing.F) {
	for _, seed := range []string{"a=1", `a="1, 2"`, `a="`, ",", "a=1,", "=", `a="\x"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMatcher(text)
		if err == nil && (len(m) == 0 || !m.matches(m)) {
			t.Errorf("parseMatcher(%q) = %v", text, m)
		}
	})
}
