// Package reports holds the thirty faults that users of comparable operators have
// reported most, each with the tests that show that this one does not have it.
// docs/field-reports.md is made from the table; a test keeps both true.
package reports

// Report is a fault that the field knows.
type Report struct {
	Number int
	// Title says what went wrong.
	Title string
	// Sources are where it was reported.
	Sources []string
	// Group is what it is about.
	Group string
	// NotHere says why the fault cannot be had here; empty where it could.
	NotHere string
	// Answer says what is done about it.
	Answer string
	// Tests prove the answer.
	Tests []Test
}

// Test is a test of this source tree.
type Test struct {
	// Package is the directory that it is in, from the root.
	Package string
	// Name is that of a Go test, or the text of a Ginkgo node; of a text that is
	// put together, what it begins with.
	Name string
}

// Applies tells whether the fault could be had here.
func (r *Report) Applies() bool { return r.NotHere == "" }
