// Package stage puts up what the demo plays on, and takes all of it down again: a control plane, a node that runs pods as
// local processes, and the operator as a process with the rights of its manifests and no others.
package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
	"git.ryuvia.com/niklas/terdut-operator/test/localnode"
)

// ServerImage is the image that the sample asks for; the reference server runs in its place.
const ServerImage = "git.ryuvia.com/niklas/terdut-server"

// operatorGrace is how long the operator may take to end in order.
const operatorGrace = 15 * time.Second

// Stage is everything that runs. Its parts are there when the method that starts them has returned.
type Stage struct {
	// Root is the root of the source tree.
	Root string
	// Kube reads and writes as the administrator, past every cache.
	Kube client.Client
	// Node runs the pods.
	Node *localnode.Node

	dir      string
	programs programs
	plane    *controlplane.ControlPlane
	operator *process.Process
	// ctx ends with the demo, or when the operator ends by itself.
	ctx    context.Context //nolint:containedctx // it is the life of the stage, not of a call
	cancel context.CancelCauseFunc
	// files are open logs.
	files []*os.File
}

// New makes an empty stage. ctx is the life of the demo.
func New(ctx context.Context, root string) (*Stage, error) {
	dir, err := os.MkdirTemp("", "terdut-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the demo: %w", err)
	}
	s := &Stage{Root: root, dir: dir}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s, nil
}

// Context ends with the context of [New], and with the operator: nothing that waits for it needs to wait any longer.
func (s *Stage) Context() context.Context { return s.ctx }

// Logs is where everything that runs writes its log.
func (s *Stage) Logs() string { return filepath.Join(s.dir, "logs") }

// Version is the version of Kubernetes.
func (s *Stage) Version() string { return s.plane.Assets.Version }

// Prepare builds the programs of the control plane if they are missing, which takes minutes, and reports that to progress.
// It reports nothing when they are at hand.
func (s *Stage) Prepare(ctx context.Context, progress io.Writer) error {
	_, err := controlplane.Binaries(ctx, progress)
	return err
}

// StartCluster starts the control plane, with the custom resources of config/crd.
func (s *Stage) StartCluster(ctx context.Context) (err error) {
	s.plane, err = controlplane.Start(ctx, controlplane.Options{
		Controllers: controlplane.WorkloadControllers(),
		// The garbage collector looks for new kinds only every 30 s: it has to find these when it starts.
		CRDPaths: []string{filepath.Join(s.Root, "config", "crd")},
		LogDir:   s.Logs(),
	})
	if err != nil {
		return err
	}
	// The limits of a client spare a shared API server. This one is ours, and waiting here is polling.
	unlimited := rest.CopyConfig(s.plane.Config)
	unlimited.QPS = -1
	known := runtime.NewScheme()
	if err = errors.Join(clientgoscheme.AddToScheme(known), v1alpha1.AddToScheme(known)); err != nil {
		return fmt.Errorf("register the types of the API: %w", err)
	}
	s.Kube, err = client.New(unlimited, client.Options{Scheme: known})
	if err != nil {
		return fmt.Errorf("make a client of the API server: %w", err)
	}
	return nil
}

// StartNode starts the node. Pods with [ServerImage] run the reference server.
func (s *Stage) StartNode(ctx context.Context) (err error) {
	log, err := s.openLog("localnode")
	if err != nil {
		return err
	}
	s.Node, err = localnode.Start(ctx, localnode.Options{
		Config:   s.plane.Config,
		Images:   map[string][]string{ServerImage: {s.programs.server}},
		ExtraEnv: map[string]string{"REFSERVER_IGNORE_DATABASE": "true"},
		LogDir:   s.Logs(),
		Log:      log,
	})
	return err
}

func (s *Stage) openLog(name string) (*os.File, error) {
	if err := os.MkdirAll(s.Logs(), 0o755); err != nil {
		return nil, fmt.Errorf("make a directory for the logs: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(s.Logs(), name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	s.files = append(s.files, file)
	return file, nil
}

// As is the access of a user with that name, who has what RBAC gives to the name.
func (s *Stage) As(user string) (*rest.Config, error) { return s.plane.AddUser(user) }

// Stop ends everything, in the order in which nothing misses what it needs. It may be called at any time and more than
// once. The logs stay until [Stage.Discard].
func (s *Stage) Stop() error {
	s.cancel(context.Canceled)
	if s.operator != nil {
		s.operator.Stop(operatorGrace)
	}
	err := errors.Join(s.Node.Stop(), s.plane.Stop())
	s.Node, s.plane, s.operator = nil, nil, nil
	for _, file := range s.files {
		err = errors.Join(err, file.Close())
	}
	s.files = nil
	return errors.Join(err, removeIfThere(filepath.Join(s.dir, kubeconfigName)), s.children())
}

// Discard removes the logs.
func (s *Stage) Discard() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the demo's directory: %w", err)
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the operator's access: %w", err)
	}
	return nil
}
