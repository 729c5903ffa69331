package interrupted_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"git.ryuvia.com/niklas/terdut-operator/test/faults"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
	"git.ryuvia.com/niklas/terdut-operator/test/faults/real"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv"
)

// sample is how many runs with one fault a scenario gets in make test.
const sample = 4

// samples are the scenarios that make test plays.
var samples = []string{"install", "chain-scoped", "rotate-source", "delete-children-team-server", "copied-record"}

// inMemoryOnly are scenarios that cannot be played beside an operator that works
// all the time, on a clock that is turned on by the hour, and why.
var inMemoryOnly = map[string]string{
	"recreated-at-once":    "the team is made again before the operator has seen that it went",
	"rebuilt-from-git":     "finalizers are taken off and the objects deleted before the operator puts them back",
	"statuses-lost":        sameStatuses,
	"statuses-lost-across": sameStatuses,
	"rotate-server-by-age": "each turn of the clock makes the key too old again",

	"operator-key-stripped": "the Secret is deleted and its finalizer taken off before the operator sees either",
	"two-claims-at-once":    "which of the two comes first, and how far the other one has come by then, differs from run to run",

	"delete-all-scoped": atOnce, "delete-credentials-first": atOnce,
	"delete-tenant-namespace": anyOrder, "delete-server-namespace": anyOrder, "delete-both-namespaces": anyOrder, "delete-namespace-of-all": anyOrder,
}

// sameStatuses: the second write of a status meets what the operator has made of the
// first.
const sameStatuses = "people and the operator write the same statuses at the same time"

// anyOrder: what goes before its team is deleted on the server by itself, so that
// what is written differs from run to run.
const anyOrder = "the controller of namespaces deletes one kind after the other, in no order"

// atOnce is the same without a namespace's controller.
const atOnce = "everything is deleted at once, and what goes before its team differs from run to run"

// start starts a plane that ends with the test.
func start(t *testing.T) *real.Plane {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	t.Cleanup(func() { ended(t) }) // when everything else was cleaned up
	env, err := testenv.Start(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stopped := env.Stop(); stopped != nil {
			t.Error(stopped)
		}
	})
	plane, err := real.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if stopped := plane.Stop(); stopped != nil {
			t.Error(stopped)
		}
	})
	return plane
}

// chosen are the scenarios that SCENARIO names, or the sample, or all when a
// number of runs is asked for.
func chosen(t *testing.T) []faults.Scenario {
	t.Helper()
	names := samples
	if text := os.Getenv("SCENARIO"); text != "" {
		names = strings.Split(text, ",")
	} else if os.Getenv("SINGLES") != "" || os.Getenv("LONG") != "" {
		return faults.Scenarios()
	}
	var out []faults.Scenario
	for _, s := range faults.Scenarios() {
		if slices.Contains(names, s.Name) {
			out = append(out, s)
		}
	}
	if len(out) < len(names) {
		t.Fatalf("not all of the scenarios %s are there", strings.Join(names, ", "))
	}
	return out
}

// number reads a number from the environment.
func number(t *testing.T, name string, standard int) int {
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

// repro is the line that repeats one run alone.
func repro(s faults.Scenario, plan []inject.Fault) string {
	texts := make([]string, 0, len(plan))
	for _, f := range plan {
		texts = append(texts, f.String())
	}
	return fmt.Sprintf("SCENARIO=%q FAULTS=%q go test -count=1 ./test/envtest/interrupted -run Campaign -v", s.Name, strings.Join(texts, " && "))
}

// repeat plays one run alone.
func (c *campaign) repeat(name, texts string) {
	var plan []inject.Fault
	for text := range strings.SplitSeq(texts, " && ") {
		f, err := inject.Parse(text)
		if err != nil {
			c.Fatal(err)
		}
		plan = append(plan, f)
	}
	for _, s := range chosen(c.T) {
		if s.Name != name {
			continue
		}
		s = s.On(c.plane.Stage().Begin)
		ref, v, err := s.Refer()
		if err != nil || len(v.Wrong) > 0 {
			c.Fatalf("undisturbed: %v\n\t%s", err, strings.Join(v.Wrong, "\n\t"))
		}
		v, story := s.Try(ref, plan...)
		c.Log(story)
		if !v.Fired {
			c.Log("the fault has not met its effect; try again")
		}
		for _, wrong := range v.Wrong {
			c.Error(wrong)
		}
	}
}
