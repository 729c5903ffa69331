package deadman

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// FuzzSpelling writes two labels as pairs, quoted and not, with spaces and in
// both orders: they are the same switch, and never that with another value.
func FuzzSpelling(f *testing.F) {
	for _, value := range []string{"Watchdog", "", "a,b=c", `say "x"`, `\`, `"`, " ", "größe", "a\nb", `a\"`, `","`} {
		f.Add(value, "prod", uint8(0))
		f.Add(value, `p"r,od`, uint8(0xff))
	}
	f.Fuzz(func(t *testing.T, one, two string, spelling uint8) {
		labels := map[string]string{"alertname": one, "cluster": two}
		want := body{matcher: quotedPairs(labels, "")}
		got := body{matcher: quotedPairs(labels, strings.Repeat(" ", int(spelling%3)))}
		if spelling&4 != 0 && bare(one) {
			got.matcher = "cluster=" + strconv.Quote(two) + ",alertname=" + one
		}
		if d := differs(want, got); !d.None() {
			t.Errorf("%q and %q differ in %v", want.matcher, got.matcher, d.Fields)
		}
		other := maps.Clone(labels)
		other["cluster"] = two + "x"
		if d := differs(want, body{matcher: quotedPairs(other, "")}); !slices.Equal(d.Fields, []string{"matcher"}) {
			t.Errorf("%q and %q are taken for the same", want.matcher, quotedPairs(other, ""))
		}
	})
}

// bare tells a value that may stand without quotes.
func bare(value string) bool {
	return strings.TrimSpace(value) == value && !strings.ContainsAny(value, `,"`)
}

func quotedPairs(labels map[string]string, space string) string {
	var parts []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, space+label+space+"="+space+strconv.Quote(labels[label])+space)
	}
	return strings.Join(parts, ",")
}

// FuzzDiffers compares any two switches: nothing differs from itself, and it
// makes no difference which one is asked.
func FuzzDiffers(f *testing.F) {
	f.Add("a=1,b=2", "15m", "b=2,a=1", "15m0s")
	f.Add(`a="`, "soon", ",", "")
	f.Fuzz(func(t *testing.T, matcher, timeout, otherMatcher, otherTimeout string) {
		a, b := body{matcher: matcher, timeout: timeout}, body{matcher: otherMatcher, timeout: otherTimeout}
		if d := differs(a, a); !d.None() {
			t.Errorf("%+v differs from itself in %v", a, d.Fields)
		}
		if there, back := differs(a, b), differs(b, a); !slices.Equal(there.Fields, back.Fields) {
			t.Errorf("%+v and %+v: %v one way, %v the other", a, b, there.Fields, back.Fields)
		}
	})
}
