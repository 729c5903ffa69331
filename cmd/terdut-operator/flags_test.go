package main

import (
	"flag"
	"testing"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
)

// TestNoLogOfSecrets: no level of the log at which the Kubernetes client logs
// whole requests is accepted.
func TestNoLogOfSecrets(t *testing.T) {
	for level, ok := range map[string]bool{"info": true, "debug": true, "5": true, "7": true, "8": false, "10": false} {
		s := settings{resync: time.Minute, limits: connect.Limits{QPS: 1, Burst: 1, Failures: 1, ProbePause: time.Second}}
		flags := flag.NewFlagSet(t.Name(), flag.ContinueOnError)
		s.log.BindFlags(flags)
		if err := flags.Parse([]string{"--zap-log-level=" + level}); err != nil {
			t.Fatal(err)
		}
		if err := s.check(); (err == nil) != ok {
			t.Errorf("--zap-log-level=%s: %v", level, err)
		}
	}
}
