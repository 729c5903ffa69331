package faults

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// suite is the name under which the figures are published.
const suite = "faults"

// complaints is how many failures of one scenario are shown.
const complaints = 4

// none is the limit that lets nothing run.
const none = -1

// TestCampaign interrupts every scenario. The environment chooses: SCENARIO, the
// name of one; FAULTS, one run of it, as a failure prints it; MODE, some modes;
// SINGLES, ENDS, VIEWS, READS and PAIRS, how many runs of that sort each scenario
// gets, 0 for all and -1 for none; FULL=1, all pairs instead of the named ones and a sample.
func TestCampaign(t *testing.T) {
	if only := os.Getenv("FAULTS"); only != "" {
		repeat(t, os.Getenv("SCENARIO"), only)
		return
	}
	if err := figures.Start(suite); err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a run leaves a lot behind at once
	table, begin, found := NewTable(), time.Now(), 0
	all := Scenarios()
	for i, s := range all {
		if only := os.Getenv("SCENARIO"); only != "" && only != s.Name {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			c := &campaign{scenario: s, table: table, traces: map[inject.Fault][]string{}}
			start := time.Now()
			c.run(t)
			table.Took[s.Name] = time.Since(start)
			found += len(c.ref.effects)
			t.Logf("scenario %d of %d survived %s of its interruptions; %s so far", i+1, len(all), table.Survived(s.Name), time.Since(begin).Round(time.Second))
		})
	}
	if err := table.Print(os.Stdout); err != nil {
		t.Fatal(err)
	}
	publish(t, figures.Value(suite, "effects", found, ""))
	table.publish(t)
	publish(t, figures.Value(suite, "campaign", int(time.Since(begin).Seconds()), "s"))
}

func publish(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// publish publishes the figures.
func (tab *Table) publish(t *testing.T) {
	t.Helper()
	for _, f := range append(families(), family{figure: pairsFigure}) {
		if c := tab.figures[f.figure]; c != nil {
			publish(t, figures.Count(suite, f.figure, c.Survived, c.Total))
		}
		if n := tab.pruned[f.figure]; n > 0 {
			t.Logf("%s: %d left out, because they make no difference", f.figure, n)
		}
	}
	t.Logf("in %d of the views nothing was shown that was not the present", tab.plain)
	t.Logf("in %d of the runs a question, or the second fault of a pair, was not met", tab.unmet)
	publish(t, figures.Value(suite, "allowances", len(tab.Allowed), ""))
	publish(t, figures.Value(suite, "max-passes", tab.passes, ""))
	publish(t, figures.Value(suite, "canary-values", tab.looked, ""))
	publish(t, figures.Value(suite, "canary-hits", tab.hits, ""))
}

// campaign is one scenario with every fault.
type campaign struct {
	scenario Scenario
	ref      *reference

	mu    sync.Mutex
	table *Table
	// traces are the effects of the runs with one fault at an effect.
	traces map[inject.Fault][]string
	shown  int
}

func (c *campaign) run(t *testing.T) {
	c.ref = referenceOf(t, c.scenario)
	chosen := modes(t)
	for _, f := range families() {
		most := limit(t, f.limit, f.sample)
		if most == none {
			continue
		}
		plans, pruned := f.plans(c.ref, chosen)
		c.table.pruned[f.figure] += pruned
		some := Sampled(plans, most)
		if len(some) < len(plans) {
			t.Logf("%s: a sample of %d of %d; %s=0, as in make campaign, runs all", f.figure, len(some), len(plans), f.limit)
		}
		c.try(t, f.figure, "", some)
	}
	c.pairs(t)
	if c.shown > complaints {
		t.Errorf("%d runs more failed", c.shown-complaints)
	}
}

// pairs runs the pairs of faults, if any are wanted.
func (c *campaign) pairs(t *testing.T) {
	most, full := limit(t, "PAIRS", none), os.Getenv("FULL") != ""
	if most == none && !full {
		return
	}
	var named, rest []plan
	firsts, _ := families()[0].plans(c.ref, nil)
	var missing []plan
	for _, first := range firsts {
		if c.traces[first[0]] == nil {
			missing = append(missing, first)
		}
	}
	c.try(t, "crash-points", "", missing)
	for _, first := range firsts {
		a, b := pairs(c.ref, first[0], c.traces[first[0]])
		named, rest = append(named, a...), append(rest, b...)
	}
	some := rest
	if !full {
		named, some = Sampled(named, most), Sampled(rest, others)
	}
	c.try(t, pairsFigure, namedPairs, named)
	c.try(t, pairsFigure, otherPairs, some)
	if len(some) == len(rest) {
		return
	}
	t.Logf("of the %d pairs that are not named these %d:", len(rest), len(some))
	for _, pair := range some {
		t.Logf("  %s", pair)
	}
}

// try runs plans side by side. The column is that of the mode where none is
// named.
func (c *campaign) try(t *testing.T, figure, column string, plans []plan) {
	queue := make(chan plan, len(plans))
	for _, p := range plans {
		queue <- p
	}
	close(queue)
	t.Run(figure, func(t *testing.T) {
		for i := range min(runtime.GOMAXPROCS(0), len(plans)) {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				for p := range queue {
					c.judge(t, figure, column, p, inBubble(t, c.scenario, c.ref, p))
				}
			})
		}
	})
}

// judge counts one run.
func (c *campaign) judge(t *testing.T, figure, column string, p plan, v Verdict) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(p) == 1:
		column = p[0].Mode.String()
		switch {
		case v.Fired:
		case figure == "read-faults":
			c.table.unmet++ // how often something is asked for at a resync differs
		default:
			v.Wrong = append(v.Wrong, "the fault has met nothing")
		}
		if figure == "stale-plans" && !v.Misled {
			c.table.plain++
		}
		c.traces[p[0]] = v.Effects
	case !v.Fired:
		c.table.unmet++
	}
	c.table.judge(c.scenario.Name, figure, column, &v)
	if len(v.Wrong) == 0 {
		return
	}
	if c.shown++; c.shown <= complaints || os.Getenv("SHOW") != "" {
		t.Errorf("%s\n\t%s", c.scenario.repro(p), strings.Join(v.Wrong, "\n\t"))
	} else {
		t.Fail()
	}
}

// modes are those that MODE names, separated by commas; nil for all.
func modes(t *testing.T) (out []inject.Mode) {
	t.Helper()
	names := os.Getenv("MODE")
	if names == "" {
		return nil
	}
	for name := range strings.SplitSeq(names, ",") {
		m, err := inject.ParseMode(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// limit reads how many runs there may be at most; 0 is no limit.
func limit(t *testing.T, name string, standard int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return standard
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%q: give a number", name, text)
	}
	return n
}

// referenceOf plays a scenario twice, undisturbed: what differs then would be
// mistaken for a fault's doing.
func referenceOf(t *testing.T, s Scenario) (ref *reference) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var v Verdict
		var err error
		if ref, v, err = s.refer(); err != nil {
			t.Fatalf("undisturbed: %v", err)
		}
		if len(v.Wrong) > 0 {
			t.Fatalf("undisturbed:\n\t%s", strings.Join(v.Wrong, "\n\t"))
		}
	})
	if v := inBubble(t, s, ref, nil); len(v.Wrong) > 0 {
		t.Fatalf("undisturbed, a second time:\n\t%s", strings.Join(v.Wrong, "\n\t"))
	}
	return ref
}

// inBubble plays a scenario with faults on a clock of its own. The bubble also
// proves that no goroutine is left: it does not end before all have.
func inBubble(t *testing.T, s Scenario, ref *reference, faults []inject.Fault) (v Verdict) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { v, _ = s.tell(ref, faults...) })
	return v
}

// parse reads faults as a plan prints them.
func parse(t *testing.T, texts string) (faults []inject.Fault) {
	t.Helper()
	for text := range strings.SplitSeq(texts, " && ") {
		f, err := inject.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	return faults
}

// repeat plays one run alone.
func repeat(t *testing.T, name, texts string) {
	faults := parse(t, texts)
	for _, s := range Scenarios() {
		if s.Name != name {
			continue
		}
		ref := referenceOf(t, s)
		synctest.Test(t, func(t *testing.T) {
			v, story := s.tell(ref, faults...)
			t.Log(story)
			for _, wrong := range v.Wrong {
				t.Error(wrong)
			}
		})
		return
	}
	t.Fatalf("there is no scenario %q", name)
}
