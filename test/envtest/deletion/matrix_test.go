package deletion_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

const (
	// abreast is how many cells run side by side.
	abreast = 24
	// steady is for how long what stays is watched.
	steady = 2 * time.Second
)

// result is what became of a cell: what was not as expected, and when.
type result struct {
	err  error
	diff []string
}

// run runs a cell from nothing to its end.
func run(ctx context.Context, c cell) result {
	w, err := newWorld(ctx)
	if err != nil {
		return result{err: fmt.Errorf("make namespaces: %w", err)}
	}
	if err = w.arrange(ctx, c); err != nil {
		return result{err: fmt.Errorf("before the deletion: %w", err)}
	}
	defer func() { _ = w.takeAway(context.WithoutCancel(ctx), w.server) }() // or it is looked at until the end of the suite
	w.peer.ResetRequests()
	w.reads = w.readsOfSecrets()
	if err = w.pull(ctx, c.trigger); err != nil {
		return result{err: fmt.Errorf("delete %s: %w", c.trigger, err)}
	}
	diff := w.rest(ctx, c, expect(c, false))
	if len(diff) > 0 || !holds(c, false) {
		return result{diff: diff}
	}
	if err = w.forceOrphan(ctx, c); err != nil {
		return result{err: fmt.Errorf("set force-orphan: %w", err)}
	}
	for _, d := range w.rest(ctx, c, expect(c, true)) {
		diff = append(diff, "after force-orphan: "+d)
	}
	return result{diff: diff}
}

// arrange brings everything into the state of the cell.
func (w *world) arrange(ctx context.Context, c cell) error {
	if err := w.install(ctx, c.deployed(), c.mode()); err != nil {
		return err
	}
	if err := w.populate(ctx, c.policy, c.trigger == byOwner); err != nil {
		return err
	}
	if err := w.ready(ctx); err != nil {
		return err
	}
	if c.consent == withdrawn {
		if err := w.withdraw(ctx); err != nil {
			return err
		}
	}
	if err := w.spoil(ctx, c.key); err != nil {
		return err
	}
	return w.bring(ctx, c)
}

// rest waits until everything is as expected, and in a cell in which something
// stays makes sure that it remains so. It returns what is not as expected.
func (w *world) rest(ctx context.Context, c cell, want expectation) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var diff []string
	since := time.Time{}
	for ctx.Err() == nil {
		got, err := w.observe(ctx)
		if err != nil {
			diff = []string{err.Error()}
		} else {
			diff = differences(want, got)
		}
		switch {
		case len(diff) > 0:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		}
		if len(diff) == 0 && (!holds(c, false) || time.Since(since) >= steady) {
			break
		}
		pause(ctx, poll)
	}
	if c.consent == withdrawn {
		if n := w.readsOfSecrets() - w.reads; n > 0 {
			diff = append(diff, fmt.Sprintf("Secrets read for a tenant without consent: expected 0, seen %d", n))
		}
	}
	return diff
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// matrix runs cells side by side.
func matrix(ctx context.Context, cells []cell) map[cell]result {
	results := make(map[cell]result, len(cells))
	queue := make(chan cell)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range min(abreast, len(cells)) {
		workers.Go(func() {
			for c := range queue {
				r := run(ctx, c)
				mu.Lock()
				results[c] = r
				mu.Unlock()
			}
		})
	}
	for _, c := range cells {
		queue <- c
	}
	close(queue)
	workers.Wait()
	return results
}

// explain is the message of a cell that failed.
func explain(c cell, r result) string {
	lines := r.diff
	if r.err != nil {
		lines = []string{r.err.Error()}
	}
	return fmt.Sprintf("%s:\n  %s\nalone: CELLS='^%s$' go test -count=1 ./test/envtest/deletion\n",
		c, strings.Join(lines, "\n  "), regexp.QuoteMeta(c.String()))
}

// chosen are the cells that the environment variable CELLS, a regular
// expression, chooses; all when it is not set.
func chosen() []cell {
	cells, _ := combinations()
	only := regexp.MustCompile(os.Getenv("CELLS"))
	var out []cell
	for _, c := range cells {
		if only.MatchString(c.String()) {
			out = append(out, c)
		}
	}
	return out
}

var _ = Describe("the matrix", Ordered, ContinueOnFailure, func() {
	cells := chosen()
	results := map[cell]result{}
	uncleaned, began := 0.0, time.Time{}

	BeforeAll(func(ctx SpecContext) {
		fmt.Print("\n", table())
		uncleaned, began = releases(), time.Now()
		results = matrix(ctx, cells)
		uncleaned = releases() - uncleaned
	})

	for _, c := range cells {
		It(c.String(), func() {
			if r := results[c]; r.err != nil || len(r.diff) > 0 {
				Fail(explain(c, r))
			}
		})
	}

	It("counts what is released without being cleaned up, each once", func() {
		want := 0
		for _, c := range cells {
			want += count(c, holds(c, false))
		}
		Expect(uncleaned).To(BeEquivalentTo(want))
	})

	AfterAll(func() {
		passed := 0
		for _, c := range cells {
			if r, ran := results[c]; ran && r.err == nil && len(r.diff) == 0 {
				passed++
			}
		}
		if len(cells) == 0 || os.Getenv("CELLS") != "" {
			return
		}
		_, not := combinations()
		pointless := 0
		for _, list := range not {
			pointless += len(list)
		}
		Expect(figures.Count(suite, "deletion-matrix", passed, len(cells))).To(Succeed())
		Expect(figures.Value(suite, "deletion-matrix-pointless", pointless, "")).To(Succeed())
		Expect(figures.Value(suite, "deletion-matrix-time", strconv.Itoa(int(time.Since(began).Seconds())), "s")).To(Succeed())
	})
})
