package main

import (
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/release"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/scope"
)

// lease is the name of the lease of the one operator that works.
const lease = "terdut-operator"

// releaseAll is the command release: it takes the finalizers off, for when the
// operator is gone.
func releaseAll(args []string) error {
	flags := flag.NewFlagSet("terdut-operator release", flag.ExitOnError)
	flags.Usage = func() {
		_, _ = fmt.Fprint(flags.Output(), "Usage: terdut-operator release [flags]\n\n"+
			"Takes the operator's finalizers off its custom resources and Secrets, when no operator is left that would.\n"+
			"What exists on terdut-servers stays there. It asks nothing: look first with --dry-run.\n\n")
		flags.PrintDefaults()
	}
	config.RegisterFlags(flags)
	dryRun := flags.Bool("dry-run", false, "say what would be done, and do nothing")
	force := flags.Bool("force", false, "go on although an operator holds its lease, such as one that looks at other namespaces")
	names := flags.String("namespaces", "", "namespaces to look at, separated by commas; the whole cluster when empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("release takes no argument %q: write --namespaces=%[1]s", flags.Arg(0))
	}
	namespaces, err := scope.Parse(*names)
	if err != nil {
		return fmt.Errorf("--namespaces: %w", err)
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	c, err := client.New(cfg, client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return release.Run(ctrl.SetupSignalHandler(), c, release.Options{
		Namespaces: namespaces, DryRun: *dryRun, Lease: lease, Force: *force, Out: os.Stdout,
	})
}
