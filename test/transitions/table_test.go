package transitions_test

import (
	"fmt"
	"io"
	"slices"
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
	rows := []string{"\tkind\tfields\tcovered\tinert\tsteps\tpassed\tmost writes\twall time\n"}
	for _, kind := range kinds {
		if t := b[kind]; t.steps > 0 {
			rows = append(rows, fmt.Sprintf("\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n",
				kind, t.fields, t.covered, t.inert, t.steps, t.passed, t.writes, t.ended.Sub(t.began).Round(time.Second)))
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, strings.Join(rows, "")); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	silent := strings.Builder{}
	for _, field := range b.all().silent {
		silent.WriteString("  inert: " + field + "\n")
	}
	if _, err := io.WriteString(out, silent.String()); err != nil {
		return fmt.Errorf("print the inert fields: %w", err)
	}
	return nil
}
