package screen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Table writes rows in aligned columns below a title.
func (s *Screen) Table(title string, header []string, rows [][]string) error {
	var buffer bytes.Buffer
	table := tablewriter.NewTable(&buffer,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.SeparatorsNone,
				Lines:      tw.LinesNone,
			},
		})),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
	)
	table.Header(header)
	if err := table.Bulk(rows); err != nil {
		return fmt.Errorf("fill table %q: %w", title, err)
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("render table %q: %w", title, err)
	}
	if title != "" {
		s.Line("%s", title)
	}
	for line := range strings.SplitSeq(strings.TrimRight(buffer.String(), "\n"), "\n") {
		s.printf("   %s\n", strings.TrimRight(line, " "))
	}
	return nil
}
