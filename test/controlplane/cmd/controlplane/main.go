// Command controlplane prepares and runs the control plane of the tests.
//
//	controlplane build        find or build the binaries and print where they are
//	controlplane run [flags]  run a control plane until interrupted
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what to do: build or run")
	}
	switch args[0] {
	case "build":
		return build(ctx, stdout, stderr)
	case "run":
		return serve(ctx, args[1:], stdout, stderr)
	default:
		return fmt.Errorf("unknown command %q: say build or run", args[0])
	}
}

func build(ctx context.Context, stdout, stderr io.Writer) error {
	assets, err := controlplane.Binaries(ctx, stderr)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s\n%s\n%s\n%s\n", assets.Etcd, assets.KubeAPIServer, assets.KubeControllerManager, assets.Kubectl)
	return err
}

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	options := controlplane.Options{Log: stderr}
	flags := flag.NewFlagSet("controlplane run", flag.ContinueOnError)
	flags.SetOutput(stderr)
	kubeconfig := flags.String("kubeconfig", "", "`file` that gets a copy of the administrator's access")
	crds := flags.String("crds", "", "comma-separated `paths` of CustomResourceDefinitions")
	controllers := flags.String("controllers", strings.Join(controlplane.DefaultControllers(), ","), "comma-separated `names` of controllers")
	flags.StringVar(&options.LogDir, "logs", "", "`directory` for the logs (default: thrown away)")
	flags.IntVar(&options.Verbosity, "v", 0, "verbosity of the logs")
	if err = flags.Parse(args); err != nil {
		return err
	}
	options.CRDPaths = split(*crds)
	options.Controllers = split(*controllers)

	plane, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if *kubeconfig != "" {
		if err = plane.KubeconfigFile(*kubeconfig, nil); err != nil {
			return err
		}
	}
	if _, err = fmt.Fprintf(stdout, "running; Ctrl-C ends it\nexport KUBECONFIG=%s\n", plane.AdminKubeconfig()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// split gives an empty list, and not one empty element, for an empty string.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
