package transitions_test

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// book has a tally for each kind.
type book map[string]*tally

func newBook() book {
	b := book{}
	for _, kind := range kinds {
		b[kind] = &tally{}
	}
	return b
}

// all sums up the kinds.
func (b book) all() *tally {
	sum := &tally{}
	for _, kind := range kinds {
		t := b[kind]
		sum.steps += t.steps
		sum.passed += t.passed
		sum.fields += t.fields
		sum.covered += t.covered
		sum.inert += t.inert
		sum.writes = max(sum.writes, t.writes)
		sum.failures = append(sum.failures, t.failures...)
		sum.silent = append(sum.silent, t.silent...)
	}
	slices.Sort(sum.failures)
	slices.Sort(sum.silent)
	return sum
}

// print writes one line for each kind, and then the fields that show nowhere with
// the reasons. Kinds overlap in time: objects of several are changed side by side.
func (b book) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(table, strings.Join(cells, "\t")) }
	row("", "kind", "fields", "covered", "inert", "steps", "passed", "most writes", "wall time")
	for _, kind := range kinds {
		t := b[kind]
		if t.steps == 0 {
			continue
		}
		row("", kind, strconv.Itoa(t.fields), strconv.Itoa(t.covered), strconv.Itoa(t.inert),
			strconv.Itoa(t.steps), strconv.Itoa(t.passed), strconv.Itoa(t.writes), t.ended.Sub(t.began).Round(time.Second).String())
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	for _, field := range b.all().silent {
		fmt.Fprintln(out, "  inert:", field)
	}
	return nil
}
