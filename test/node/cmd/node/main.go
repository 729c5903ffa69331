// Command node prepares and runs the node of the tests.
//
//	node build        find or build the programs and print where they are
//	node up [flags]   run a node until interrupted
//	node down [flags] end a node that another process runs, or clear what a killed one left
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"git.ryuvia.com/niklas/terdut-operator/test/node"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what to do: build, up or down")
	}
	options := node.Options{Log: stderr}
	flags := flag.NewFlagSet("node "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	var load list
	if args[0] == "up" || args[0] == "down" {
		flags.StringVar(&options.Dir, "dir", "", "`directory` of the node (default: terdut-node in the directory for temporary files)")
	}
	if args[0] == "up" {
		flags.IntVar(&options.Port, "port", 0, "`port` of the API server on 127.0.0.1 (default: a free one)")
		flags.StringVar(&options.KeepLogs, "keep-logs", "", "`directory` that gets the logs at the end")
		flags.Var(&load, "load", "`tar` of images to load; may be given more than once")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s takes no arguments, and got %q", args[0], flags.Arg(0))
	}
	switch args[0] {
	case "build":
		return build(ctx, stdout, stderr)
	case "up":
		return up(ctx, options, load, stdout)
	case "down":
		return node.Clear(ctx, options)
	default:
		return fmt.Errorf("unknown command %q: say build, up or down", args[0])
	}
}

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string     { return fmt.Sprint(*l) }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func build(ctx context.Context, stdout, stderr io.Writer) error {
	programs, err := node.Build(ctx, stderr)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s\n%s\n", filepath.Dir(programs.Kubelet), filepath.Dir(programs.Containerd))
	return err
}

func up(ctx context.Context, options node.Options, load []string, stdout io.Writer) (err error) {
	n, err := node.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop(context.WithoutCancel(ctx))) }()
	for _, path := range load {
		if err = n.LoadImage(ctx, path); err != nil {
			return err
		}
	}
	if _, err = fmt.Fprintf(stdout, "running; Ctrl-C ends it\nexport KUBECONFIG=%s\n", n.Kubeconfig()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
