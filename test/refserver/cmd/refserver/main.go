// Command refserver runs the reference server, configured by the environment that the operator renders into a
// terdut-server Deployment. What it has no use for, such as single sign-on, is checked and otherwise ignored.
//
// TERDUT_DATABASE_URL is memory:// (the default) or the postgres:// URL of a database, whose password comes in PGPASSWORD;
// sslmode and sslrootcert of the URL are honoured. A database that cannot be used ends the program with 1 and one line.
//
// Besides those variables: REFSERVER_WITHOUT is a comma separated list of capabilities to turn off
// (service-accounts, version, me, chosen-keys, list-keys, created-at); REFSERVER_VERSION is the version to claim;
// REFSERVER_IGNORE_DATABASE=true takes any TERDUT_DATABASE_URL and keeps the state in memory all the same.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver/database"
)

const (
	exitFailed = 1
	exitConfig = 2
	grace      = 10 * time.Second
)

func main() {
	cfg, err := fromEnvironment(os.LookupEnv)
	if err != nil {
		fmt.Fprintf(os.Stderr, "refserver: %v\n", err)
		os.Exit(exitConfig)
	}
	if err = run(cfg); err != nil {
		fmt.Fprintf(os.Stderr, "refserver: %v\n", err)
		os.Exit(exitFailed)
	}
}

// run serves until SIGINT or SIGTERM.
func run(cfg config) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	place := "memory"
	if cfg.database != "" {
		store, err := database.Open(ctx, cfg.database)
		if err != nil {
			return err
		}
		defer store.Close()
		cfg.options.Store, place = store, store.String()
	}
	server, err := refserver.New(cfg.options)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.listen)
	if err != nil {
		return fmt.Errorf("listen on TERDUT_LISTEN_ADDR %q: %w", cfg.listen, err)
	}
	log.Printf("reference server (not terdut-server) on %s, state in %s", listener.Addr(), place)
	if cfg.databaseIgnored {
		log.Print("TERDUT_DATABASE_URL is ignored, as REFSERVER_IGNORE_DATABASE asks: nothing survives a restart")
	}
	web := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	go sweep(ctx, server)
	go func() {
		<-ctx.Done()
		end, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if stopErr := web.Shutdown(end); stopErr != nil {
			log.Printf("shut down: %v", stopErr)
		}
	}()
	if err = web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// sweep does every second what is due. Of failures in a row only the first is logged.
func sweep(ctx context.Context, server *refserver.Server) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			err := server.Tick(now)
			switch {
			case err != nil && !failing:
				log.Printf("sweep: %v", err)
			case err == nil && failing:
				log.Print("sweep: works again")
			}
			failing = err != nil
		}
	}
}
