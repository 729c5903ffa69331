package faults

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Cell is one field of the table.
type Cell struct{ Survived, Total int }

func (c *Cell) add(survived bool) {
	c.Total++
	if survived {
		c.Survived++
	}
}

func (c *Cell) plus(other *Cell) {
	c.Survived += other.Survived
	c.Total += other.Total
}

// String implements fmt.Stringer.
func (c *Cell) String() string {
	if c == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d", c.Survived, c.Total)
}

// Table counts by scenario and mode.
type Table struct {
	rows  []string
	cells map[string]map[string]*Cell
	// Took is how long each scenario took.
	Took map[string]time.Duration
	// Allowed counts declared losses, by what is printed of them.
	Allowed map[string]int
	// figures count by family, pruned what was left out of it.
	figures map[string]*Cell
	pruned  map[string]int
	// unmet counts the pairs of which the second fault met nothing.
	unmet int
	// plain counts the views in which nothing wrong was seen.
	plain int
	// looked counts the values that outputs were searched for, hits those found.
	looked, hits int
	// passes is the most that it took until nothing was written any more.
	passes int
}

// NewTable makes an empty table.
func NewTable() *Table {
	return &Table{
		cells: map[string]map[string]*Cell{}, Took: map[string]time.Duration{}, Allowed: map[string]int{},
		figures: map[string]*Cell{}, pruned: map[string]int{},
	}
}

func (t *Table) row(scenario string) map[string]*Cell {
	if t.cells[scenario] == nil {
		t.rows = append(t.rows, scenario)
		t.cells[scenario] = map[string]*Cell{}
	}
	return t.cells[scenario]
}

// Count counts a run.
func (t *Table) Count(scenario, column string, survived bool) {
	row := t.row(scenario)
	if row[column] == nil {
		row[column] = &Cell{}
	}
	row[column].add(survived)
}

// Sum is all cells of the columns that begin in that way.
func (t *Table) Sum(prefix string) (out Cell) {
	for _, row := range t.cells {
		for name, c := range row {
			if strings.HasPrefix(name, prefix) {
				out.plus(c)
			}
		}
	}
	return out
}

// Survived is all that was done to one scenario.
func (t *Table) Survived(scenario string) *Cell {
	out := &Cell{}
	for _, c := range t.cells[scenario] {
		out.plus(c)
	}
	return out
}

// judge counts a run, with what else its verdict says.
func (t *Table) judge(scenario, figure, column string, v *Verdict) {
	t.Count(scenario, column, len(v.Wrong) == 0)
	if t.figures[figure] == nil {
		t.figures[figure] = &Cell{}
	}
	t.figures[figure].add(len(v.Wrong) == 0)
	t.looked += v.Looked
	t.hits += v.Hits
	t.passes = max(t.passes, v.Passes)
	for _, loss := range v.Allowed {
		t.Allowed[scenario+": "+loss]++
	}
}

// Print writes the table, survived of all in each cell: a block for each family,
// then the declared losses.
func (t *Table) Print(to io.Writer) error {
	for _, f := range families() {
		columns := make([]string, 0, len(f.modes))
		for _, m := range f.modes {
			columns = append(columns, m.String())
		}
		if err := t.block(to, f.figure, columns); err != nil {
			return err
		}
	}
	if err := t.block(to, pairsFigure, []string{namedPairs, otherPairs}); err != nil {
		return err
	}
	for _, loss := range slices.Sorted(maps.Keys(t.Allowed)) {
		if _, err := fmt.Fprintf(to, "declared allowance, %d runs: %s\n", t.Allowed[loss], loss); err != nil {
			return err
		}
	}
	return nil
}

// The figure and the columns of pairs.
const (
	pairsFigure = "crash-pairs"

	namedPairs = "named-pairs"
	otherPairs = "other-pairs"
)

// block writes those columns that hold anything.
func (t *Table) block(to io.Writer, title string, columns []string) error {
	columns = slices.DeleteFunc(columns, func(c string) bool {
		return !slices.ContainsFunc(t.rows, func(row string) bool { return t.cells[row][c] != nil })
	})
	if len(columns) == 0 {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s\t%s\tWALL\n", strings.ToUpper(title), strings.Join(columns, "\t"))
	for _, name := range t.rows {
		text.WriteString(name)
		for _, column := range columns {
			text.WriteString("\t" + t.cells[name][column].String())
		}
		fmt.Fprintf(&text, "\t%s\n", t.Took[name].Round(100*time.Millisecond))
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	return w.Flush()
}
