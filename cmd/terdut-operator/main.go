// Command terdut-operator runs the operator.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"git.ryuvia.com/niklas/terdut-operator/charts"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "terdut-operator: %v\n", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	if len(args) > 0 && args[0] == "release" {
		return releaseAll(args[1:])
	}
	s := parse()
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("no command %q: there is release, and without a command the operator runs", flag.Arg(0))
	case s.version:
		fmt.Println(charts.Version())
		return nil
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&s.log)))
	return run(s)
}

func run(s settings) error {
	proxy, err := s.proxyURL()
	if err != nil {
		return err
	}
	if err = s.check(); err != nil {
		return err
	}
	watched, err := s.namespaces()
	if err != nil {
		return err
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	ctx := ctrl.SetupSignalHandler()
	if s.crds {
		if err = upgradeCRDs(ctx, cfg); err != nil {
			return err
		}
	}
	options := controllers.ManagerOptions(watched...)
	options.Metrics = metricsserver.Options{BindAddress: s.metrics}
	options.HealthProbeBindAddress = s.probes
	options.LeaderElection = s.leaderElect
	options.LeaderElectionID = lease
	options.LeaderElectionNamespace = s.namespace
	// The process ends when the manager does, so the next one need not wait for the lease to run out.
	options.LeaderElectionReleaseOnCancel = true
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return fmt.Errorf("set up the manager: %w", err)
	}
	if err := controllers.Register(ctx, mgr, controllers.Options{
		Resync: s.resync, Namespaces: watched, Limits: s.limits, Proxy: proxy, AllowLoopback: s.loopback,
	}); err != nil {
		return err
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return fmt.Errorf("set up the probes: %w", err)
	}
	return mgr.Start(ctx)
}
