// Command seeds proves that the fault campaign bites: it puts one known bug
// after the other into the operator, and the campaign has to find each.
//
// A bug is a file in bugs/: one text of the product, and what stands there
// instead. Nothing of it is in the source that ships, and no build tag brings it
// there: the campaign is built with Go's -overlay, once for all seeds, and a
// variable of the environment says which of them is at work. The test of this
// package holds every seed against the source, so that none rots unseen.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"git.ryuvia.com/niklas/terdut-operator/test/faults"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// suite is the name of the figures.
const suite = "faults-seeds"

func main() {
	only := flag.String("only", "", "the seeds that are sown, separated by commas; empty for all")
	expected := flag.Bool("expected", false, "play only the scenarios that should meet a seed")
	workers := flag.Int("p", 2, "how many are sown at the same time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := sowAndReap(ctx, *only, *expected, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "seeds:", err)
		os.Exit(1)
	}
}

func sowAndReap(ctx context.Context, only string, expected bool, workers int) (err error) {
	begin := time.Now()
	seeds, err := all()
	if err != nil {
		return err
	}
	seeds = slices.DeleteFunc(seeds, func(s seed) bool { return only != "" && !slices.Contains(strings.Split(only, ","), s.Name) })
	h := &hunter{}
	if h.root, err = figures.Root(); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "seeds-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if h.binary, err = build(ctx, h.root, scratch, seeds); err != nil {
		return fmt.Errorf("build the campaign with %d seeds: %w", len(seeds), err)
	}
	fmt.Fprintf(os.Stderr, "built with %d seeds after %.0f s\n", len(seeds), time.Since(begin).Seconds())
	for _, s := range faults.Scenarios() {
		if !expected {
			h.scenarios = append(h.scenarios, s.Name)
		}
	}
	results, err := h.huntAll(ctx, seeds, workers)
	if err == nil {
		err = print(os.Stdout, results)
	}
	if err != nil {
		return err
	}
	if only != "" || expected {
		return verdict(results)
	}
	return errors.Join(verdict(results), publish(results, time.Since(begin)))
}

// huntAll hunts for all seeds, some at the same time, and tells of each at once.
func (h *hunter) huntAll(ctx context.Context, seeds []seed, workers int) ([]result, error) {
	results := make([]result, len(seeds))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range seeds {
		group.Go(func() error {
			results[i] = h.hunt(ctx, &seeds[i])
			fmt.Fprintln(os.Stderr, results[i].row())
			return ctx.Err()
		})
	}
	return results, group.Wait()
}

// print writes a row for each seed.
func print(to io.Writer, results []result) error {
	text := "SEED\tPATTERN\tSCENARIO\tFAULT\tORACLE\tSECONDS\n"
	for i := range results {
		text += results[i].row() + "\n"
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return w.Flush()
}

// row tells of one seed: what killed it, and by which complaint.
func (r *result) row() string {
	scenario, fault, oracle := "-", "-", "survived"
	switch {
	case r.err != nil:
		oracle = "no verdict"
	case r.killed():
		scenario, fault, oracle = r.Scenario, cmp.Or(r.Faults, "none"), r.Wrong[0]
		switch oracle, _, _ = strings.Cut(oracle, ":"); {
		case strings.Contains(r.Wrong[0], "does not settle"):
			oracle = "rest"
		case strings.HasPrefix(oracle, "step"), oracle == "prepare":
			oracle = "scenario"
		}
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%.0f", r.Name, r.Pattern, scenario, fault, oracle, r.took.Seconds())
}

// verdict is an error for every seed that was not killed.
func verdict(results []result) error {
	var errs []error
	for i := range results {
		switch r := &results[i]; {
		case r.err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", r.Name, r.err))
		case !r.killed():
			errs = append(errs, fmt.Errorf("%s survived, so no run of the campaign would notice that the operator does this: %s", r.Name, r.What))
		}
	}
	return errors.Join(errs...)
}

func publish(results []result, took time.Duration) error {
	if err := figures.Start(suite); err != nil {
		return err
	}
	killed := 0
	for i := range results {
		if results[i].killed() {
			killed++
		}
	}
	return errors.Join(
		figures.Count(suite, "seeded-bugs-killed", killed, len(results)),
		figures.Value(suite, "seeds", int(took.Seconds()), "s"),
	)
}
