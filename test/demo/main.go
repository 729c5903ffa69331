// Command demo shows the whole product on one machine in under a minute: a real control plane, the operator with its own
// rights, the reference server in place of terdut-server, and the cross-namespace sample from apply to delete. It proves
// each step on both sides and exits with 0 only if every step held.
//
//	go run ./test/demo           play it and take everything down
//	KEEP=1 go run ./test/demo    leave everything running until Ctrl-C
//
// The first run builds the programs of the control plane when they can not be downloaded, which takes minutes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"git.ryuvia.com/niklas/terdut-operator/test/demo/screen"
	"git.ryuvia.com/niklas/terdut-operator/test/demo/stage"
	"git.ryuvia.com/niklas/terdut-operator/test/demo/story"
	"git.ryuvia.com/niklas/terdut-operator/test/figures"
)

// suite names the demo's figures.
const suite = "demo"

// errInterrupted is the end by Ctrl-C.
var errInterrupted = errors.New("interrupted")

func main() {
	// The libraries below have a log of their own; what matters is on the screen.
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		// A second one ends the demo at once: nothing that it started outlives it then either.
		signal.Stop(signals)
		cancel(errInterrupted)
	}()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	keep, err := wanted(os.Getenv("KEEP"))
	if err != nil {
		return err
	}
	root, err := figures.Root()
	if err != nil {
		return err
	}
	if err = figures.Start(suite); err != nil {
		return err
	}
	st, err := stage.New(ctx, root)
	if err != nil {
		return err
	}
	result := story.Tell(ctx, st, screen.New(os.Stdout), keep)
	err = errors.Join(result.Err, figures.Count(suite, "demo-steps", result.Passed, result.Total))
	if result.Clean && (err == nil || errors.Is(err, errInterrupted)) {
		return errors.Join(err, st.Discard())
	}
	if _, missing := os.Stat(st.Logs()); missing != nil {
		return errors.Join(err, st.Discard()) // nothing has come to write a log
	}
	return fmt.Errorf("%w\nlogs: %s", err, st.Logs())
}

// wanted reads KEEP.
func wanted(value string) (bool, error) {
	if value == "" {
		return false, nil
	}
	keep, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("KEEP is %q: say KEEP=1 to leave everything running", value)
	}
	return keep, nil
}
