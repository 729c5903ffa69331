// Command list-teams prints the teams of a terdut-server and where each gets its alerts from.
//
//	TERDUT_URL=https://terdut.example.com TERDUT_KEY=... list-teams
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"git.ryuvia.com/niklas/terdut-operator/terdutapi"
)

func main() {
	if err := run(context.Background(), os.Getenv("TERDUT_URL"), os.Getenv("TERDUT_KEY"), os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "list-teams: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, key string, out io.Writer) error {
	if address == "" || key == "" {
		return errors.New("set TERDUT_URL to the server's address and TERDUT_KEY to an API key")
	}
	client, err := terdutapi.New(address, terdutapi.WithAPIKey(key), terdutapi.WithUserAgent("list-teams"))
	if err != nil {
		return fmt.Errorf("TERDUT_URL: %w", err)
	}
	teams, err := client.ListTeams(ctx)
	switch {
	case errors.Is(err, terdutapi.ErrUnauthorized):
		return errors.New("the server does not accept TERDUT_KEY: make a new key and try again")
	case err != nil:
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	if _, err = fmt.Fprintln(table, "ID\tTEAM\tINTEGRATIONS"); err != nil {
		return err
	}
	for _, team := range teams {
		integrations, listErr := client.ListIntegrations(ctx, team.ID)
		if listErr != nil {
			return fmt.Errorf("list integrations of team %q: %w", team.Name, listErr)
		}
		names := make([]string, 0, len(integrations))
		for _, integration := range integrations {
			names = append(names, integration.Name+" ("+integration.Kind+")")
		}
		if _, err = fmt.Fprintf(table, "%d\t%s\t%s\n", team.ID, team.Name, strings.Join(names, ", ")); err != nil {
			return err
		}
	}
	return table.Flush()
}
