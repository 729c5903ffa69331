package faults

import (
	"fmt"
	"slices"
	"strings"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
)

// plan is what goes wrong in one run.
type plan []inject.Fault

// String is the plan as FAULTS reads it.
func (p plan) String() string {
	texts := make([]string, 0, len(p))
	for _, f := range p {
		texts = append(texts, f.String())
	}
	return strings.Join(texts, " && ")
}

// family is a sort of plans that shares a figure.
type family struct {
	// figure is its name.
	figure string
	// limit is the variable of the environment that says how many of them each
	// scenario gets at most; 0 means all.
	limit string
	// sample is what make test takes of each scenario: together some minutes on two
	// cores.
	sample int
	modes  []inject.Mode
	// points are where its modes can happen in an undisturbed run.
	points func(*reference) []inject.Point
}

// families are all sorts of runs with one fault.
func families() []family {
	return []family{
		{figure: "crash-points", limit: "SINGLES", modes: inject.Modes(), points: effects(inject.Modes())},
		{figure: "overlaps", limit: "ENDS", sample: 2, modes: []inject.Mode{inject.Overlap}, points: effects([]inject.Mode{inject.Overlap})},
		{figure: "graceful-ends", limit: "ENDS", sample: 2, modes: inject.Stops(), points: effects(inject.Stops())},
		{
			figure: "stale-plans", limit: "VIEWS", sample: 5, modes: slices.Concat(inject.Views(), inject.Hidden(), []inject.Mode{inject.Shuffled}),
			points: func(ref *reference) []inject.Point {
				return slices.Concat(effects(inject.Views())(ref), ref.changes, orders())
			},
		},
		{figure: "read-faults", limit: "READS", sample: 5, modes: inject.Reads(), points: func(ref *reference) []inject.Point { return ref.reads }},
	}
}

// effects has modes at each effect.
func effects(modes []inject.Mode) func(*reference) []inject.Point {
	return func(ref *reference) (out []inject.Point) {
		for _, label := range ref.effects {
			out = append(out, inject.Point{Label: label, Modes: modes})
		}
		return out
	}
}

// orders are the orders of lists that each scenario is run in.
func orders() (out []inject.Point) {
	for i := range 4 {
		out = append(out, inject.Point{Label: fmt.Sprintf("LISTS #%d", i+1), Modes: []inject.Mode{inject.Shuffled}})
	}
	return out
}

// plans are those of a family for one scenario, in some modes or, without any, in
// all, and how many were left out because they make no difference.
func (f family) plans(ref *reference, some []inject.Mode) (out []plan, pruned int) {
	for _, point := range f.points(ref) {
		for _, mode := range f.modes {
			if len(some) > 0 && !slices.Contains(some, mode) {
				continue
			}
			if slices.Contains(point.Modes, mode) && !point.Again {
				out = append(out, plan{{Label: point.Label, Mode: mode}})
			} else if point.Again || applies(mode, point.Label) {
				pruned++
			}
		}
	}
	return out, pruned
}

// applies tells whether a mode is one of points of that sort at all.
func applies(mode inject.Mode, label string) bool {
	if strings.HasPrefix(label, "CHANGE ") {
		return mode == inject.HiddenEvent || mode == inject.HiddenVersion
	}
	return mode == inject.ReadEmpty && strings.Contains(label, " list ")
}

// near is how far apart the two faults of a named pair are, in effects.
const near = 5

// short is up to how many effects a scenario has all pairs.
const short = 10

// others is how many of the pairs that are not named each scenario gets.
const others = 20

// pairs are the second faults after a first one: those that are named, and the
// rest. trace are the effects of the run with the first one, so that what is done
// to recover is interrupted too. Of a short scenario all pairs are named; of
// others crash-after and lost-response, up to near effects apart, and ends of the
// process while a key cannot be written.
func pairs(ref *reference, first inject.Fault, trace []string) (named, rest []plan) {
	hard := []inject.Mode{inject.CrashAfter, inject.LostResponse}
	at := slices.Index(trace, first.Label)
	named = endsWithKey(first, trace)
	for i := at + 1; at >= 0 && i < len(trace); i++ {
		for _, mode := range inject.Modes() {
			pair := plan{first, {Label: trace[i], Mode: mode}}
			if len(ref.effects) <= short || i-at <= near && slices.Contains(hard, first.Mode) && slices.Contains(hard, mode) {
				named = append(named, pair)
			} else {
				rest = append(rest, pair)
			}
		}
	}
	return named, rest
}

// endsWithKey are the pairs in which a Secret cannot be written, and the process
// is told to end soon after it: what was to go there is in memory only.
func endsWithKey(first inject.Fault, trace []string) (out []plan) {
	at := slices.Index(trace, first.Label)
	if at < 0 || first.Mode != inject.TooMany || !strings.Contains(first.Label, " apply Secret ") {
		return nil
	}
	for _, label := range trace[at+1 : min(at+1+near, len(trace))] {
		out = append(out, plan{first, {Label: label, Mode: inject.StopBefore}})
	}
	return out
}

// Singles are all faults of some modes at some points.
func Singles(labels []string, modes []inject.Mode) (out [][]inject.Fault) {
	for _, label := range labels {
		for _, mode := range modes {
			out = append(out, []inject.Fault{{Label: label, Mode: mode}})
		}
	}
	return out
}

// Sampled is a fixed sample of the plans, so that at most so many are left,
// spread over points and modes alike.
func Sampled[P any](plans []P, most int) []P {
	if most <= 0 || len(plans) <= most {
		return plans
	}
	step := max(len(plans)*618/1000, 1)
	for divisor(step, len(plans)) != 1 {
		step--
	}
	chosen := make([]int, 0, most)
	for i := range most {
		chosen = append(chosen, i*step%len(plans))
	}
	slices.Sort(chosen)
	out := make([]P, 0, most)
	for _, i := range chosen {
		out = append(out, plans[i])
	}
	return out
}

// divisor is the greatest number that divides both.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
