package faults

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"git.ryuvia.com/niklas/terdut-operator/test/faults/inject"
)

// Singles are all faults of one effect.
func Singles(effects []string, modes []inject.Mode) [][]inject.Fault {
	var out [][]inject.Fault
	for _, label := range effects {
		for _, mode := range modes {
			out = append(out, []inject.Fault{{Label: label, Mode: mode}})
		}
	}
	return out
}

// near is how far apart the two faults of a named pair are, in effects.
const near = 5

// short is up to how many effects a scenario has all pairs.
const short = 10

// pairs are the named pairs of a scenario: all of them for a short one;
// otherwise crash-after and lost-response, up to near effects apart. With full
// there is no limit.
func pairs(effects []string, full bool) [][]inject.Fault {
	all := full || len(effects) <= short
	modes := []inject.Mode{inject.CrashAfter, inject.LostResponse}
	if all {
		modes = inject.Modes()
	}
	var out [][]inject.Fault
	for i, first := range effects {
		for j := i + 1; j < len(effects) && (all || j-i <= near); j++ {
			for _, a := range modes {
				for _, b := range modes {
					out = append(out, []inject.Fault{{Label: first, Mode: a}, {Label: effects[j], Mode: b}})
				}
			}
		}
	}
	return out
}

// Sampled is a fixed sample of the plans, so that at most so many are left,
// spread over effects and modes alike.
func Sampled(plans [][]inject.Fault, most int) [][]inject.Fault {
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
	out := make([][]inject.Fault, 0, most)
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

// Cell is one field of the table.
type Cell struct{ Survived, Total int }

// Table counts by scenario and mode.
type Table struct {
	rows  []string
	cells map[string]map[string]*Cell
	// Allowed counts declared losses, by reason.
	Allowed map[string]int
}

// NewTable makes an empty table.
func NewTable() *Table {
	return &Table{cells: map[string]map[string]*Cell{}, Allowed: map[string]int{}}
}

// Count counts a run.
func (t *Table) Count(scenario, column string, survived bool) {
	if t.cells[scenario] == nil {
		t.rows = append(t.rows, scenario)
		t.cells[scenario] = map[string]*Cell{}
	}
	c := t.cells[scenario][column]
	if c == nil {
		c = &Cell{}
		t.cells[scenario][column] = c
	}
	c.Total++
	if survived {
		c.Survived++
	}
}

// Sum is all cells of the columns that begin in that way.
func (t *Table) Sum(prefix string) (out Cell) {
	for _, row := range t.cells {
		for name, c := range row {
			if strings.HasPrefix(name, prefix) {
				out.Survived += c.Survived
				out.Total += c.Total
			}
		}
	}
	return out
}

// Print writes the table, survived of all in each cell.
func (t *Table) Print(to io.Writer) error {
	var columns []string
	for _, row := range t.cells {
		for name := range row {
			if !slices.Contains(columns, name) {
				columns = append(columns, name)
			}
		}
	}
	order := append(modeColumns(), "pairs")
	slices.SortFunc(columns, func(a, b string) int {
		return cmp.Or(slices.Index(order, a)-slices.Index(order, b), cmp.Compare(a, b))
	})
	var text strings.Builder
	text.WriteString("SCENARIO\t" + strings.ToUpper(strings.Join(columns, "\t")) + "\n")
	for _, name := range t.rows {
		text.WriteString(name)
		for _, column := range columns {
			if c := t.cells[name][column]; c != nil {
				fmt.Fprintf(&text, "\t%d/%d", c.Survived, c.Total)
			} else {
				text.WriteString("\t-")
			}
		}
		text.WriteString("\n")
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	return w.Flush()
}

func modeColumns() []string {
	var out []string
	for _, m := range slices.Concat(inject.Modes(), inject.Views()) {
		out = append(out, m.String())
	}
	return out
}
