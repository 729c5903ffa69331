package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/scope"
)

// settings are the flags.
type settings struct {
	resync      time.Duration
	limits      connect.Limits
	proxy       string
	loopback    bool
	metrics     string
	probes      string
	leaderElect bool
	namespace   string
	watch       string
	crds        bool
	version     bool
	log         zap.Options
}

func parse() settings {
	var s settings
	flag.DurationVar(&s.resync, "resync", 10*time.Minute,
		"time between two looks at a settled object; drift on a server is repaired within two of them")
	flag.Float64Var(&s.limits.QPS, "server-qps", 50, "requests a second that one terdut-server gets in the long run")
	flag.IntVar(&s.limits.Burst, "server-burst", 100, "requests that one terdut-server gets at once after a quiet time")
	flag.IntVar(&s.limits.Failures, "server-failures", 3,
		"failed requests in a row after which a terdut-server gets nothing but a probe until it answers")
	flag.DurationVar(&s.limits.ProbePause, "server-probe-pause", time.Second,
		"longest pause between two probes of a terdut-server that does not answer")
	flag.StringVar(&s.proxy, "server-proxy", "",
		"URL of a forward proxy for calls to terdut-servers; the environment's proxy is never used")
	flag.BoolVar(&s.loopback, "test-allow-loopback-servers", false,
		"for tests only: call terdut-servers on loopback addresses")
	flag.StringVar(&s.metrics, "metrics-bind-address", ":8080", "address of the metrics endpoint; 0 turns it off")
	flag.StringVar(&s.probes, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 turns them off")
	flag.BoolVar(&s.leaderElect, "leader-elect", false, "run only while holding the leader lease, so that several replicas may stand by")
	flag.StringVar(&s.namespace, "leader-election-namespace", "", "namespace of the leader lease; the pod's own when empty")
	flag.StringVar(&s.watch, "watch-namespaces", "",
		"namespaces to look at, separated by commas, with a Role in each and no ClusterRole; the whole cluster when empty")
	flag.BoolVar(&s.crds, "crds-upgrade", false,
		"bring the custom resource definitions up to the operator's version at the start; not with --watch-namespaces")
	flag.BoolVar(&s.version, "version", false, "print the version and end")
	s.log.BindFlags(flag.CommandLine)
	flag.Parse()
	return s
}

// bodies is the level of the log from which on the Kubernetes client logs what
// it sends and gets.
const bodies = 8

// check refuses what cannot be meant.
func (s settings) check() error {
	if s.resync < time.Second {
		return fmt.Errorf("--resync is %s: give at least 1s", s.resync)
	}
	if l := s.limits; l.QPS <= 0 || l.Burst < 1 || l.Failures < 1 || l.ProbePause < 100*time.Millisecond {
		return errors.New("--server-qps must be more than 0, --server-burst and --server-failures at least 1, --server-probe-pause at least 100ms")
	}
	if level := s.log.Level; level != nil && level.Enabled(-bodies) {
		return fmt.Errorf("--zap-log-level shows more than is good: give at most %d; from %d on whole requests are logged, with the values of Secrets in them",
			bodies-1, bodies)
	}
	return nil
}

// namespaces are those to look at; none means the whole cluster.
func (s settings) namespaces() ([]string, error) {
	watched, err := scope.Parse(s.watch)
	if err != nil {
		return nil, fmt.Errorf("--watch-namespaces: %w", err)
	}
	if s.crds && len(watched) > 0 {
		return nil, errors.New("--crds-upgrade needs rights in the whole cluster, which --watch-namespaces does without: remove one of them")
	}
	return watched, nil
}

// proxyURL refuses what is no proxy address. It shows nothing of a password in
// it.
func (s settings) proxyURL() (*url.URL, error) {
	if s.proxy == "" {
		return nil, nil //nolint:nilnil // no proxy is a valid choice
	}
	u, err := url.Parse(s.proxy)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("--server-proxy must be an http or https URL, such as http://proxy.example:3128")
	}
	return u, nil
}
