package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// catch is the first complaint of a hunt, for the program in seeds, which reads
// it from the standard output.
type catch struct {
	Scenario string `json:"scenario"`
	// Faults are those of the run; empty for one that nothing disturbed.
	Faults string   `json:"faults,omitempty"`
	Wrong  []string `json:"wrong"`
}

// TestHunt plays the runs of the campaign with one fault each, and those pairs in
// which the process ends with a key in memory, until the first complaint of an oracle or of a step that expects something, and prints that.
// HUNT names the scenarios, separated by commas; without it there is nothing to
// do. A scenario that does not come to rest by itself is a failure, and no
// complaint.
func TestHunt(t *testing.T) {
	names := os.Getenv("HUNT")
	if names == "" {
		t.Skip("HUNT names no scenario")
	}
	all := Scenarios()
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			t.Fatalf("there is no scenario %q", name)
		}
		found := hunt(t, all[i])
		if found == nil {
			continue
		}
		raw, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("CAUGHT %s\n", raw)
		return
	}
}

// hunt is the first complaint in one scenario; nil when there is none.
func hunt(t *testing.T, s Scenario) *catch {
	t.Helper()
	var ref *reference
	var v Verdict
	var err error
	synctest.Test(t, func(*testing.T) { ref, v, err = s.refer() })
	if err != nil {
		v.Wrong = append(v.Wrong, err.Error())
	}
	switch wrong := judged(v.Wrong); {
	case err != nil && (len(wrong) == 0 || endless.MatchString(err.Error())):
		t.Fatalf("%s, undisturbed: %v", s.Name, err)
	case len(wrong) > 0:
		if innocent(t, s, nil) {
			return &catch{Scenario: s.Name, Wrong: wrong}
		}
		return nil
	}
	return caughtIn(t, s, ref)
}

// caughtIn is the first complaint about a run with faults.
func caughtIn(t *testing.T, s Scenario, ref *reference) *catch {
	t.Helper()
	var plans, pairs []plan
	for _, f := range families() {
		more, _ := f.plans(ref, nil)
		plans = append(plans, more...)
	}
	for _, p := range append([]plan{nil}, scattered(plans)...) {
		v := inBubble(t, s, ref, p)
		if found := caught(t, s, p, v); found != nil {
			return found
		}
		if len(p) == 1 {
			pairs = append(pairs, endsWithKey(p[0], v.Effects)...)
		}
	}
	for _, p := range pairs {
		if found := caught(t, s, p, inBubble(t, s, ref, p)); found != nil {
			return found
		}
	}
	return nil
}

// caught is the complaint about a run, if it is about the seed.
func caught(t *testing.T, s Scenario, p plan, v Verdict) *catch {
	t.Helper()
	if wrong := judged(v.Wrong); len(wrong) > 0 && innocent(t, s, p) {
		return &catch{Scenario: s.Name, Faults: p.String(), Wrong: wrong}
	}
	return nil
}

// atWork is the variable of the environment that names the seed which is at
// work. The operator that is built for a hunt asks for it in every function that
// a seed changes.
const atWork = "SEED"

// innocent tells whether a run is without complaint when no seed is at work, so
// that a complaint is about the seed.
func innocent(t *testing.T, s Scenario, p plan) bool {
	t.Helper()
	seed := os.Getenv(atWork)
	defer func() { _ = os.Setenv(atWork, seed) }() // the name is a good one
	if err := os.Unsetenv(atWork); err != nil {
		t.Fatal(err)
	}
	var ref *reference
	var v Verdict
	var err error
	synctest.Test(t, func(*testing.T) { ref, v, err = s.refer() })
	return err == nil && len(judged(v.Wrong)) == 0 && len(judged(inBubble(t, s, ref, p).Wrong)) == 0
}

// scattered are plans in an order in which neighbours are far apart: what
// finds a bug is seldom alone.
func scattered(plans []plan) []plan {
	step := max(len(plans)*618/1000, 1)
	for divisor(step, len(plans)) != 1 {
		step--
	}
	out := make([]plan, 0, len(plans))
	for i := range plans {
		out = append(out, plans[i*step%len(plans)])
	}
	return out
}

var (
	// complaint is how one of an oracle begins, or of a step that expects
	// something.
	complaint = regexp.MustCompile(`^([1-6] [a-z ]+|prepare|step \d+): `)
	// endless is that of a run that does not come to rest.
	endless = regexp.MustCompile(`^[a-z]+( \d+)?: does not settle`)
)

// judged are the complaints of oracles and scenarios, without the troubles of
// the campaign itself.
func judged(wrong []string) []string {
	return slices.DeleteFunc(slices.Clone(wrong), func(w string) bool { return !complaint.MatchString(w) })
}
