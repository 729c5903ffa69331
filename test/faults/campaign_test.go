package faults

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// suite is the name under which the figures are published.
const suite = "faults"

// sample is how many runs with one fault each scenario gets in make test, which
// has the race detector.
const sample = 6

// complaints is how many failures of one scenario are shown.
const complaints = 4

// TestCampaign interrupts every scenario. The environment chooses:
// SCENARIO, the name of one; FAULTS, one run of it, as a failure prints it;
// MODE, some modes; SINGLES, how many runs with one fault each scenario gets, 0 for all; PAIRS,
// the same for runs with a named pair of faults, which there are none of
// otherwise; FULL=1, all pairs instead of the named ones.
func TestCampaign(t *testing.T) {
	if only := os.Getenv("FAULTS"); only != "" {
		repeat(t, os.Getenv("SCENARIO"), only)
		return
	}
	if err := figures.Start(suite); err != nil {
		t.Fatal(err)
	}
	counts, begin, effects := NewTable(), time.Now(), 0
	for _, s := range Scenarios() {
		if only := os.Getenv("SCENARIO"); only == "" || only == s.Name {
			t.Run(s.Name, func(t *testing.T) { effects += campaign(t, s, counts) })
		}
	}
	if err := counts.Print(os.Stdout); err != nil {
		t.Fatal(err)
	}
	for reason, n := range counts.Allowed {
		t.Logf("declared allowance %s: %d runs", reason, n)
	}
	all, both := counts.Sum(""), counts.Sum("pairs")
	publish(t, figures.Value(suite, "effects", effects, ""))
	publish(t, figures.Count(suite, "crash-points", all.Survived-both.Survived, all.Total-both.Total))
	if both.Total > 0 {
		publish(t, figures.Count(suite, "crash-pairs", both.Survived, both.Total))
	}
	for reason, n := range counts.Allowed {
		publish(t, figures.Value(suite, "allowance-"+reason, n, ""))
	}
	publish(t, figures.Value(suite, "campaign", int(time.Since(begin).Seconds()), "s"))
}

func publish(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// campaign runs one scenario with every fault, and tells how many effects it has.
func campaign(t *testing.T, s Scenario, counts *Table) int {
	ref := referenceOf(t, s)
	shown := 0
	try := func(column string, faults []inject.Fault) {
		v := inBubble(t, s, ref, faults)
		counts.Count(s.Name, column, len(v.Wrong) == 0)
		for _, reason := range v.Allowed {
			counts.Allowed[reason]++
		}
		if len(v.Wrong) == 0 {
			return
		}
		if shown++; shown <= complaints {
			t.Errorf("%s\n\t%s", s.repro(faults), strings.Join(v.Wrong, "\n\t"))
		} else {
			t.Fail()
		}
	}
	all := Singles(ref.effects, modes(t))
	chosen := Sampled(all, limit(t, "SINGLES", sample))
	for _, faults := range chosen {
		try(faults[0].Mode.String(), faults)
	}
	if len(chosen) < len(all) {
		t.Logf("a sample: %d of %d; SINGLES=0, as in make campaign, runs all", len(chosen), len(all))
	}
	if full := os.Getenv("FULL") != ""; full || os.Getenv("PAIRS") != "" {
		all = pairs(ref.effects, full)
		chosen = Sampled(all, limit(t, "PAIRS", 0))
		for _, faults := range chosen {
			try("pairs", faults)
		}
		if len(chosen) < len(all) {
			t.Logf("a sample: %d of %d named pairs; PAIRS=0 runs all", len(chosen), len(all))
		}
	}
	if shown > complaints {
		t.Errorf("%d runs more failed", shown-complaints)
	}
	return len(ref.effects)
}

// modes are those that MODE names, separated by commas, or all.
func modes(t *testing.T) []inject.Mode {
	t.Helper()
	names := os.Getenv("MODE")
	if names == "" {
		return slices.Concat(inject.Modes(), inject.Views())
	}
	var out []inject.Mode
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
	synctest.Test(t, func(*testing.T) { v = s.try(ref, faults...) })
	return v
}

// repeat plays one run alone.
func repeat(t *testing.T, name, texts string) {
	var faults []inject.Fault
	for _, text := range strings.Split(texts, " && ") {
		f, err := inject.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
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
