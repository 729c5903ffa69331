package localnode

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// checkProbes refuses the kinds of probes that are not performed here: to call them passed would be a lie.
func checkProbes(spec *corev1.Container) error {
	for _, probe := range []*corev1.Probe{spec.StartupProbe, spec.ReadinessProbe, spec.LivenessProbe} {
		if probe != nil && probe.HTTPGet == nil && probe.TCPSocket == nil {
			return errors.New("localnode performs httpGet and tcpSocket probes only")
		}
	}
	return nil
}

// probe performs the container's probes until ctx ends, and sends to condemned when one wants the process ended.
func (c *container) probe(ctx context.Context, condemned chan<- string) {
	if probe := c.spec.StartupProbe; probe != nil {
		if !c.awaitStartup(ctx, probe, condemned) {
			return
		}
	}
	c.change(func(v *view) { v.started, v.ready = true, c.spec.ReadinessProbe == nil })
	var running sync.WaitGroup
	defer running.Wait()
	if probe := c.spec.ReadinessProbe; probe != nil {
		running.Go(func() { c.watchReadiness(ctx, probe) })
	}
	if probe := c.spec.LivenessProbe; probe != nil {
		running.Go(func() { c.watchLiveness(ctx, probe, condemned) })
	}
}

func (c *container) awaitStartup(ctx context.Context, probe *corev1.Probe, condemned chan<- string) bool {
	row := trial{probe: probe, patient: true}
	delay := c.capped(probe.InitialDelaySeconds)
	for c.pause(ctx, delay) {
		delay = c.capped(probe.PeriodSeconds)
		switch row.judge(c.perform(ctx, probe), time.Now()) {
		case passed:
			return true
		case broken:
			condemned <- "startup probe failed"
			return false
		case undecided:
		}
	}
	return false
}

func (c *container) watchReadiness(ctx context.Context, probe *corev1.Probe) {
	row := trial{probe: probe}
	delay := c.capped(probe.InitialDelaySeconds)
	for c.pause(ctx, delay) {
		delay = c.capped(probe.PeriodSeconds)
		err := c.perform(ctx, probe)
		if ctx.Err() != nil {
			return
		}
		verdict := row.judge(err, time.Now())
		if ready := verdict == passed; verdict != undecided && ready != c.snapshot().ready {
			c.change(func(v *view) { v.ready = ready })
		}
	}
}

func (c *container) watchLiveness(ctx context.Context, probe *corev1.Probe, condemned chan<- string) {
	row := trial{probe: probe, patient: true}
	// Not capped: a process that is not asked too early is not condemned for a slow machine.
	delay := time.Duration(probe.InitialDelaySeconds) * time.Second
	for c.pause(ctx, delay) {
		delay = c.capped(probe.PeriodSeconds)
		err := c.perform(ctx, probe)
		if ctx.Err() != nil {
			return
		}
		if row.judge(err, time.Now()) == broken {
			condemned <- "liveness probe failed"
			return
		}
	}
}

func (c *container) capped(seconds int32) time.Duration {
	return min(time.Duration(seconds)*time.Second, c.worker.node.options.MaxProbePeriod)
}

// pause waits, and tells whether ctx still lives.
func (c *container) pause(ctx context.Context, delay time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(delay):
		return ctx.Err() == nil
	}
}

type verdict int

const (
	undecided verdict = iota
	passed
	broken
)

// trial counts the results of one probe in a row.
type trial struct {
	probe *corev1.Probe
	// patient trials need as much time for a bad verdict as the probe's own period would take, however often it is asked.
	patient             bool
	successes, failures int32
	failingSince        time.Time
}

func (t *trial) judge(err error, now time.Time) verdict {
	if err == nil {
		t.failures = 0
		t.successes++
		if t.successes >= max(t.probe.SuccessThreshold, 1) {
			return passed
		}
		return undecided
	}
	t.successes = 0
	if t.failures == 0 {
		t.failingSince = now
	}
	t.failures++
	threshold := max(t.probe.FailureThreshold, 1)
	if t.failures < threshold {
		return undecided
	}
	if t.patient && now.Sub(t.failingSince) < time.Duration(threshold-1)*time.Duration(t.probe.PeriodSeconds)*time.Second {
		return undecided
	}
	return broken
}

// probeClient neither follows redirects, which count as success, nor uses a proxy or an old connection.
var probeClient = &http.Client{
	Transport: &http.Transport{
		DisableKeepAlives: true,
		// A kubelet does not verify certificates either.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// perform asks once. All ports of a container lead to its one address.
func (c *container) perform(ctx context.Context, probe *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	address := c.snapshot().address
	if probe.HTTPGet == nil {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("probe: %w", err)
		}
		return connection.Close()
	}
	get := probe.HTTPGet
	url := fmt.Sprintf("%s://%s/%s", strings.ToLower(string(get.Scheme)), address, strings.TrimPrefix(get.Path, "/"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	request.Header.Set("User-Agent", "kube-probe/localnode")
	for _, header := range get.HTTPHeaders {
		request.Header.Set(header.Name, header.Value)
		if strings.EqualFold(header.Name, "Host") {
			request.Host = header.Value
		}
	}
	response, err := probeClient.Do(request)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 10<<10))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("probe: %s", response.Status)
	}
	return nil
}
