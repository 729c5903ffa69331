package transitions_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

const (
	// abreast is how many objects are changed side by side.
	abreast = 16
	// length is how many fields one object goes through.
	length = 6
)

// tally counts what was tried and keeps what failed.
type tally struct {
	mu                     sync.Mutex
	steps, passed          int
	fields, covered, inert int
	// writes are the most that one change led to.
	writes int
	// silent are the inert fields with the reasons.
	silent   []string
	failures []string
	// began and ended are the first and the last moment of the lanes.
	began, ended time.Time
}

// moment notes that something began or ended now.
func (t *tally) moment() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = time.Now()
	if t.began.IsZero() {
		t.began = t.ended
	}
}

// wrote notes how many writes a change led to.
func (t *tally) wrote(writes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes = max(t.writes, writes)
}

func (t *tally) count(what string, total, good *int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*total++
	if err == nil {
		*good++
		return
	}
	alone, _, _ := strings.Cut(what, ":")
	failure := fmt.Sprintf("%s: %v\n  alone: CELLS='^%s$' go test -count=1 ./test/transitions", what, err, regexp.QuoteMeta(alone))
	fmt.Fprintln(os.Stderr, failure) // at once: the rest may take minutes
	t.failures = append(t.failures, failure)
}

// title is the name of a field with its kind; CELLS chooses by it.
func (g group) title() string { return g.kind + " " + g.path }

// lanes are fields that one object goes through one after another.
func lanes(groups []group) [][]group {
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.base, b.base)) })
	var out [][]group
	for _, g := range groups {
		last := len(out) - 1
		if last < 0 || len(out[last]) == length || out[last][0].kind != g.kind || out[last][0].base != g.base {
			out = append(out, nil)
			last++
		}
		out[last] = append(out[last], g)
	}
	return out
}

// walkLane takes one object through its fields.
func walkLane(ctx context.Context, f *fresh, groups []group, t *tally) {
	t.moment()
	defer t.moment()
	l := &lane{kind: groups[0].kind, base: groups[0].base, fresh: f, wrote: t.wrote}
	for _, g := range groups {
		for _, c := range g.steps {
			t.count(g.title()+": "+c.name, &t.steps, &t.passed, l.step(ctx, g, c))
		}
		if detour, to := detourOf(ctx, f, g); to != nil {
			t.count(g.title()+": by a detour", &t.steps, &t.passed, l.order(ctx, g, detour, to))
		}
		shows, err := acts(ctx, f, g)
		switch {
		case err == nil && !shows && g.sample.Inert == "":
			err = fmt.Errorf("it shows nowhere: wire it, or say in its sample why it is inert")
		case err == nil && shows && g.sample.Inert != "":
			err = fmt.Errorf("it shows, and is listed as inert")
		}
		if g.sample.Inert != "" {
			t.mu.Lock()
			t.inert++
			t.silent = append(t.silent, g.title()+": "+g.sample.Inert)
			t.mu.Unlock()
		}
		t.count(g.title()+": acts", &t.fields, &t.covered, err)
	}
}

var _ = Describe("every field of the schemas", func() {
	var groups []group

	It("has values to try", func() {
		var all []string
		for _, kind := range kinds {
			_, problems := groupsOf(kind)
			all = append(all, problems...)
		}
		Expect(all).To(BeEmpty(), strings.Join(all, "\n"))
	})

	It("leads to the same by a change and by a creation, and back", func(ctx SpecContext) {
		only := regexp.MustCompile(os.Getenv("CELLS"))
		for _, kind := range kinds {
			of, _ := groupsOf(kind)
			for _, g := range of {
				if only.MatchString(g.title()) {
					groups = append(groups, g)
				}
			}
		}
		began, tallies, f, done := time.Now(), newBook(), &fresh{}, atomic.Int64{}
		queue := make(chan []group)
		var workers sync.WaitGroup
		for range abreast {
			workers.Go(func() {
				for lane := range queue {
					walkLane(ctx, f, lane, tallies[lane[0].kind])
					fmt.Fprintf(os.Stderr, "%s: %d of %d fields done\n", time.Since(began).Round(time.Second), done.Add(int64(len(lane))), len(groups))
				}
			})
		}
		for _, lane := range lanes(groups) {
			queue <- lane
		}
		close(queue)
		workers.Wait()
		Expect(tallies.print(os.Stdout)).To(Succeed())
		t := tallies.all()
		if os.Getenv("CELLS") == "" {
			Expect(figures.Count(suite, "transitions", t.passed, t.steps)).To(Succeed())
			Expect(figures.Count(suite, "fields-covered", t.covered, t.fields)).To(Succeed())
			Expect(figures.Value(suite, "fields-inert", t.inert, "")).To(Succeed())
			Expect(figures.Value(suite, "transitions-time", int(time.Since(began).Seconds()), "s")).To(Succeed())
		}
		Expect(f.restless()).To(BeEmpty())
		Expect(t.failures).To(BeEmpty(), "\n"+strings.Join(t.failures, "\n"))
	})
})
