// Command rbac names the rights of the operator that no suite has used, after
// the suites have run. It fails when there is one and every suite has been
// heard, or when the operator lacked a right.
package main

import (
	"fmt"
	"os"

	"git.ryuvia.com/niklas/terdut-operator/test/figures"
	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
)

// suite is the name of the figures.
const suite = "rbac"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rbac:", err)
		os.Exit(1)
	}
}

func run() error {
	report, err := rbac.Compare()
	if err != nil {
		return err
	}
	if err := figures.Start(suite); err != nil {
		return err
	}
	for _, right := range report.Held {
		fmt.Println("granted, and needed without a request here:", right)
	}
	for _, right := range report.Unused {
		fmt.Println("granted and not used:", right)
	}
	for _, right := range report.Refused {
		fmt.Println("asked for and not granted:", right)
	}
	if len(report.Missing) > 0 {
		fmt.Println("no word about used rights from:", report.Missing)
	} else if err := figures.Value(suite, "rbac-unused-rules", len(report.Unused), ""); err != nil {
		return err
	}
	switch {
	case len(report.Refused) > 0:
		return fmt.Errorf("the operator asked %d times for what it may not do: add a marker where it asks, or do not ask", len(report.Refused))
	case len(report.Unused) > 0 && len(report.Missing) == 0:
		return fmt.Errorf("%d rights are granted and not used: take the markers away, or let a suite use them", len(report.Unused))
	}
	return nil
}
