package stage

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
)

const (
	// OperatorUser is the user that the manifests give the operator's rights to. Its certificate bears the name that a
	// pod's token would, so that the bindings of config/rbac apply as they stand.
	OperatorUser = "system:serviceaccount:terdut-system:terdut-operator"

	kubeconfigName = "operator.kubeconfig"
	// resync is short, so that nobody waits long for a drift to be seen. The operator's default is ten minutes.
	resync = 5 * time.Second
	// readyWithin is how long the operator may take to fill its caches on a busy machine.
	readyWithin = 60 * time.Second
)

// StartOperator starts the operator as [OperatorUser] and waits until it is ready.
func (s *Stage) StartOperator(ctx context.Context) error {
	access, err := s.As(OperatorUser)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(s.dir, kubeconfigName)
	if err = s.plane.KubeconfigFile(kubeconfig, access); err != nil {
		return err
	}
	probes, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	log, err := s.openLog("terdut-operator")
	if err != nil {
		return err
	}
	cmd := exec.Command(s.programs.operator,
		"--resync="+resync.String(),
		"--server-proxy="+s.Node.ProxyURL().String(),
		"--metrics-bind-address=0",
		"--health-probe-bind-address="+probes,
	)
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig}
	cmd.Stdout, cmd.Stderr = log, log
	operator, err := process.Start(cmd)
	if err != nil {
		return err
	}
	s.operator = operator
	go s.mourn(operator, log.Name())
	return Until(s.ctx, readyWithin, func(ctx context.Context) error { return probe(ctx, "http://"+probes+"/readyz") })
}

// mourn ends the demo when the operator ends unasked.
func (s *Stage) mourn(operator *process.Process, log string) {
	<-operator.Done()
	said := ""
	if content, err := os.ReadFile(log); err == nil {
		said = lastLine(string(content))
	}
	if strings.Contains(said, "address already in use") {
		s.cancel(fmt.Errorf("the port for the operator's probes was taken in between: start the demo again"))
		return
	}
	// After Stop this changes nothing: the stage's context has ended.
	s.cancel(fmt.Errorf("the operator ended with exit code %d: %s", operator.ExitCode(), said))
}

// freeAddress is a loopback address that nobody listens on now.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close() //nolint:errcheck // it has served its purpose
	return listener.Addr().String(), nil
}

func probe(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask the operator whether it is ready: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the operator whether it is ready: %w", err)
	}
	if err = response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("the operator is not ready: it answers %s", response.Status)
	}
	return nil
}
