package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

const (
	// startTimeout bounds the start of each process; a machine that compiles at the same time is slow.
	startTimeout = 90 * time.Second
	// stopGrace is how long the API server may take to end its watches. Its data are thrown away: there is nothing to lose.
	stopGrace = 3 * time.Second
	// startAttempts is how often free ports are chosen anew when another process takes one between choice and use.
	startAttempts = 3
)

// Options say what to start. The zero value is a control plane with the garbage collector and the namespace controller.
type Options struct {
	// CRDPaths are files and directories with CustomResourceDefinitions. They are installed before the controllers start:
	// the garbage collector looks for new kinds only every 30 s. A path that does not exist is an error.
	CRDPaths []string
	// Controllers are names as kube-controller-manager's flag --controllers knows them. nil means garbage-collector-controller
	// and namespace-controller, an empty list starts no controller manager. With serviceaccount-controller the API server
	// runs the admission plugin ServiceAccount as well.
	Controllers []string
	// AuditLog is a file that gets one JSON line for each answered request, written before the answer is sent. Empty means
	// none.
	AuditLog string
	// AuditLevel is Metadata (the default), Request or RequestResponse. The last two write Secrets in the clear.
	AuditLevel string
	// APIServerArgs are further flags of kube-apiserver, without the leading dashes. They are added to those set here.
	APIServerArgs map[string][]string
	// Verbosity is the flag --v of kube-apiserver and kube-controller-manager.
	Verbosity int
	// LogDir gets etcd.log, kube-apiserver.log and kube-controller-manager.log. By default they are removed at the end.
	LogDir string
	// Log gets the progress of building the binaries. nil discards it.
	Log io.Writer
}

// DefaultControllers are what runs when Options name no controllers.
func DefaultControllers() []string {
	return []string{"garbage-collector-controller", "namespace-controller"}
}

// WorkloadControllers are the default ones and those that make pods of Deployments.
func WorkloadControllers() []string {
	return append(DefaultControllers(), "deployment-controller", "replicaset-controller", "serviceaccount-controller")
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	// Config belongs to a user in the group system:masters, who may do everything.
	Config *rest.Config
	// Assets are the programs that run.
	Assets Assets

	keeper  *keeper
	env     *envtest.Environment
	manager *process.Process
	logDir  string
	// files are the open logs.
	files []*os.File
}

// Start starts a control plane, and first builds its programs if they are missing (see [Binaries]). It returns when the
// API server answers, the CRDs are established and the controllers work. ctx bounds building and waiting, not the life
// of the control plane; that ends with [ControlPlane.Stop], and with the calling process in every case. Nothing is left
// running after an error.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	assets, err := Binaries(ctx, options.Log)
	if err != nil {
		return nil, err
	}
	if options.Controllers == nil {
		options.Controllers = DefaultControllers()
	}
	for attempt := 1; ; attempt++ {
		plane, startErr := start(ctx, assets, options)
		if startErr == nil {
			return plane, nil
		}
		if !errors.Is(startErr, errPortInUse) || attempt == startAttempts {
			return nil, startErr
		}
	}
}

func start(ctx context.Context, assets Assets, options Options) (_ *ControlPlane, err error) {
	if err = ctx.Err(); err != nil {
		return nil, fmt.Errorf("start control plane: %w", context.Cause(ctx))
	}
	plane := &ControlPlane{Assets: assets, logDir: options.LogDir}
	if plane.keeper, err = newKeeper(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, plane.Stop())
		}
	}()
	if plane.logDir == "" {
		plane.logDir = filepath.Join(plane.keeper.dir, "logs")
	}
	if err = plane.startAPIServer(options); err != nil {
		return nil, err
	}
	if err = plane.KubeconfigFile(plane.AdminKubeconfig(), nil); err != nil {
		return nil, err
	}
	if len(options.Controllers) > 0 {
		if err = plane.startManager(ctx, options); err != nil {
			return nil, err
		}
	}
	return plane, nil
}

// startAPIServer starts etcd and kube-apiserver through envtest.
func (p *ControlPlane) startAPIServer(options Options) error {
	env := &envtest.Environment{
		UseExistingCluster:       ptr.To(false),
		CRDDirectoryPaths:        options.CRDPaths,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	etcd := &envtest.Etcd{DataDir: filepath.Join(p.keeper.dir, "etcd")}
	server := env.ControlPlane.GetAPIServer()
	server.CertDir = filepath.Join(p.keeper.dir, "apiserver")
	env.ControlPlane.Etcd, env.ControlPlane.KubectlPath = etcd, p.Assets.Kubectl

	var err error
	if etcd.Path, err = p.keeper.wrap(etcdBinary, p.Assets.Etcd); err != nil {
		return err
	}
	if server.Path, err = p.keeper.wrap(apiServerBinary, p.Assets.KubeAPIServer); err != nil {
		return err
	}
	etcdLog, err := p.openLog(etcdBinary)
	if err != nil {
		return err
	}
	serverLog, err := p.openLog(apiServerBinary)
	if err != nil {
		return err
	}
	etcd.Out, etcd.Err, server.Out, server.Err = etcdLog, etcdLog, serverLog, serverLog
	if err = p.configure(server, options); err != nil {
		return err
	}
	p.env = env
	if p.Config, err = env.Start(); err != nil {
		return p.explain(fmt.Errorf("start kube-apiserver: %w", err), etcdBinary, apiServerBinary)
	}
	return nil
}

// configure adds the flags in which this API server differs from envtest's.
func (p *ControlPlane) configure(server *envtest.APIServer, options Options) error {
	args := server.Configure()
	args.Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	// envtest has room for 254 Services, and a suite may make more: a campaign makes a thousand worlds.
	args.Set("service-cluster-ip-range", "10.0.0.0/16")
	if slices.Contains(options.Controllers, "serviceaccount-controller") {
		// envtest switches the plugin ServiceAccount off because nobody makes the accounts there.
		args.Disable("disable-admission-plugins")
	}
	if options.Verbosity > 0 {
		args.Set("v", strconv.Itoa(options.Verbosity))
	}
	if options.AuditLog != "" {
		policy, err := p.auditPolicy(options.AuditLevel)
		if err != nil {
			return err
		}
		args.Set("audit-policy-file", policy)
		args.Set("audit-log-path", options.AuditLog)
	}
	for name, values := range options.APIServerArgs {
		args.Append(name, values...)
	}
	return nil
}

func (p *ControlPlane) auditPolicy(level string) (string, error) {
	if level == "" {
		level = "Metadata"
	}
	path := filepath.Join(p.keeper.dir, "audit-policy.yaml")
	policy := fmt.Sprintf(`{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":%q}]}`, level)
	if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
		return "", fmt.Errorf("write audit policy: %w", err)
	}
	return path, nil
}

// Stop ends all processes and removes what they wrote, save LogDir and AuditLog. It may be called on nil and more than
// once.
func (p *ControlPlane) Stop() error {
	if p == nil || p.keeper == nil {
		return nil
	}
	if p.manager != nil {
		p.manager.Stop(stopGrace)
	}
	var failed error
	if p.env != nil {
		impatient := time.AfterFunc(stopGrace, p.keeper.kill)
		failed = p.env.Stop()
		impatient.Stop()
	}
	for _, file := range p.files {
		failed = errors.Join(failed, file.Close())
	}
	failed = errors.Join(failed, p.keeper.close())
	p.keeper = nil
	if failed != nil {
		return fmt.Errorf("stop control plane: %w", failed)
	}
	return nil
}

func (p *ControlPlane) logFile(name string) string { return filepath.Join(p.logDir, name+".log") }

func (p *ControlPlane) openLog(name string) (*os.File, error) {
	if err := os.MkdirAll(p.logDir, 0o755); err != nil {
		return nil, fmt.Errorf("open log of %s: %w", name, err)
	}
	file, err := os.OpenFile(p.logFile(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", name, err)
	}
	p.files = append(p.files, file)
	return file, nil
}

// errPortInUse is a port that was free when it was chosen.
var errPortInUse = errors.New("another process took the port that was chosen; start again")

// explain adds to err what the programs wrote last: envtest itself only knows that they ended.
func (p *ControlPlane) explain(err error, names ...string) error {
	for _, name := range names {
		content, readErr := os.ReadFile(p.logFile(name))
		if readErr != nil || len(bytes.TrimSpace(content)) == 0 {
			continue
		}
		if bytes.Contains(content, []byte("address already in use")) {
			return fmt.Errorf("start %s: %w", name, errPortInUse)
		}
		err = fmt.Errorf("%w; last line of %s: %s", err, name, source.LastLine(string(content), nil))
	}
	return err
}
