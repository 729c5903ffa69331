package deadman

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDiffers(t *testing.T) {
	base := body{name: "n", matcher: `alertname=Watchdog,team=a`, timeout: "15m", severity: "critical"}
	for _, c := range []struct {
		name   string
		change func(*body)
		want   []string
	}{
		{"nothing", func(*body) {}, nil},
		{"name", func(b *body) { b.name = "other" }, nil}, // the loop compares names
		{"spelling of the time", func(b *body) { b.timeout = "15m0s" }, nil},
		{"spelling in seconds", func(b *body) { b.timeout = "900s" }, nil},
		{"another time", func(b *body) { b.timeout = "16m" }, []string{"timeout"}},
		{"no time at all", func(b *body) { b.timeout = "soon" }, []string{"timeout"}},
		{"order and space", func(b *body) { b.matcher = ` team = a , alertname=Watchdog` }, nil},
		{"quotes", func(b *body) { b.matcher = `team="a",alertname="Watchdog"` }, nil},
		{"trailing comma", func(b *body) { b.matcher = `alertname=Watchdog,team=a,` }, nil},
		{"a pair less", func(b *body) { b.matcher = `alertname=Watchdog` }, []string{"matcher"}},
		{"a comma inside quotes", func(b *body) { b.matcher = `alertname="Watchdog,team=a"` }, []string{"matcher"}},
		{"severity", func(b *body) { b.severity = "warning" }, []string{"severity"}},
		{"everything", func(b *body) { *b = body{matcher: "x=y", timeout: "1s", severity: "info"} }, []string{"matcher", "timeout", "severity"}},
	} {
		got := base
		c.change(&got)
		if d := differs(base, got); !slices.Equal(d.Fields, c.want) || d.None() != (len(c.want) == 0) {
			t.Errorf("%s: fields %v, want %v", c.name, d.Fields, c.want)
		}
		if d := differs(base, got); !d.Replace {
			t.Errorf("%s: a switch can only be made anew", c.name)
		}
	}
}

// TestSpellingNeverDiffers writes random switches in random ways.
func TestSpellingNeverDiffers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		timeout := time.Duration(1+r.IntN(100000)) * time.Second
		labels := map[string]string{}
		for i := range 1 + r.IntN(4) {
			labels[fmt.Sprintf("l%d", i)] = strings.Repeat("v", r.IntN(3)) + fmt.Sprint(r.IntN(9))
		}
		one, other := spell(r, labels, timeout), spell(r, labels, timeout)
		if d := differs(one, other); !d.None() {
			t.Fatalf("%+v and %+v differ in %v", one, other, d.Fields)
		}
	}
}

func spell(r *rand.Rand, labels map[string]string, timeout time.Duration) body {
	var parts []string
	for label, value := range labels { // in random order
		if r.IntN(2) == 0 {
			value = `"` + value + `"`
		}
		space := strings.Repeat(" ", r.IntN(2))
		parts = append(parts, space+label+space+"="+space+value+space)
	}
	text := timeout.String()
	if r.IntN(2) == 0 {
		text = fmt.Sprintf("%ds", int(timeout.Seconds()))
	}
	return body{matcher: strings.Join(parts, ","), timeout: text, severity: "info"}
}
