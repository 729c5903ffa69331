package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/connect"
	"git.ryuvia.com/niklas/terdut-operator/test/canary"
	"git.ryuvia.com/niklas/terdut-operator/test/canary/sealed"
	"git.ryuvia.com/niklas/terdut-operator/test/controlplane"
	"git.ryuvia.com/niklas/terdut-operator/test/rbac"
)

// operatorUser is who the operator is for the API server.
const operatorUser = rbac.Operator

// Env is a control plane with what the operator needs around it.
type Env struct {
	// Plane is the control plane.
	Plane *controlplane.ControlPlane
	// Admin may do everything and reads past every cache.
	Admin client.Client
	// Network is how the operator reaches servers.
	Network *Network
	// Requests are what the operator has asked of the API server.
	Requests *Requests
	// Rollouts plays the Deployment controller, where nobody else is it.
	Rollouts *Rollouts
	// Secrets are all values that must stand in Secrets only: those that stood in
	// one, and every key that a server of the Network has handed out.
	Secrets *canary.Values

	cluster  *sealed.Cluster
	config   *rest.Config
	operator *rest.Config
	around   atomic.Pointer[Around]
	stops    []func() error
}

// Start starts a control plane with the CRDs and gives the operator's user the
// generated role. Progress of a first build goes to log. The operator does not
// run yet. ctx bounds the start only.
func Start(ctx context.Context, log io.Writer) (*Env, error) {
	e, err := StartUnbound(ctx, log)
	if err != nil {
		return nil, err
	}
	if err = e.BindGenerated(ctx); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// StartUnbound is Start, and the operator's user may do nothing yet.
func StartUnbound(ctx context.Context, log io.Writer) (*Env, error) {
	e, err := StartWith(ctx, log, controlplane.DefaultControllers())
	if err != nil {
		return nil, err
	}
	e.Rollouts = &Rollouts{client: e.Admin}
	if _, err = e.start(e.config, nil, func(_ context.Context, mgr ctrl.Manager) error { return e.Rollouts.setup(mgr) }); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// StartWith is StartUnbound with those controllers of kube-controller-manager,
// and without Rollouts: unless one of them rolls Deployments out, specs do.
func StartWith(ctx context.Context, log io.Writer, kube []string) (*Env, error) {
	suite, err := suiteName()
	if err != nil {
		return nil, err
	}
	usage, err := rbac.Record(suite)
	if err != nil {
		return nil, err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{
		CRDPaths: []string{Path("config", "crd")}, Controllers: kube, AuditLog: usage.AuditLog(), Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, usage.Discard())
	}
	e := &Env{Plane: plane, Network: &Network{}, Requests: &Requests{}}
	e.stops = []func() error{usage.Save, plane.Stop}
	if err := e.prepare(suite); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

func (e *Env) prepare(suite string) error {
	e.config = rest.CopyConfig(e.Plane.Config)
	e.config.QPS, e.config.Burst = 1000, 2000
	var err error
	if e.Admin, err = client.New(e.config, client.Options{Scheme: controllers.Scheme()}); err != nil {
		return fmt.Errorf("make the administrator's client: %w", err)
	}
	if e.operator, err = e.Plane.AddUser(operatorUser); err != nil {
		return err
	}
	e.operator.Wrap(e.Requests.wrap)
	e.operator.Wrap(e.surrounded)
	if e.cluster, err = sealed.Watch(e.config); err != nil {
		return err
	}
	e.Secrets = e.cluster.Values
	e.stops = append(e.stops, func() error {
		e.cluster.Stop()
		return e.prove(suite)
	})
	return nil
}

// Operator is the access of the operator's user, for what a suite runs in place
// of StartOperator.
func (e *Env) Operator() *rest.Config { return rest.CopyConfig(e.operator) }

// BindGenerated gives the operator's user the generated role and nothing else.
func (e *Env) BindGenerated(ctx context.Context) error {
	role, err := ClusterRole()
	if err != nil {
		return err
	}
	return e.Bind(ctx, role.Rules)
}

// Bind gives the operator's user those rights.
func (e *Env) Bind(ctx context.Context, rules []rbacv1.PolicyRule) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: operatorUser}, Rules: rules}
	if err := e.Admin.Create(ctx, role); err != nil {
		return fmt.Errorf("create the operator's role: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operatorUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
	}
	if err := e.Admin.Create(ctx, binding); err != nil {
		return fmt.Errorf("bind the operator's role: %w", err)
	}
	return nil
}

// RunOperator runs the operator until Stop, looking at settled objects again
// every resync. What lives on a server that is silent says so after as long.
func (e *Env) RunOperator(resync time.Duration) error {
	_, err := e.StartOperator(controllers.Options{Resync: resync, Limits: connect.Limits{Patience: resync}})
	return err
}

// StartOperator runs the operator until Stop, or until the function that it
// returns is called, which waits for the end. It reaches servers through the
// Network, unless the options name another transport or a proxy.
func (e *Env) StartOperator(options controllers.Options) (stop func() error, err error) {
	if options.Transport == nil && options.Proxy == nil {
		options.Transport = e.surrounded(e.Network)
	}
	return e.start(e.operator, options.Namespaces, func(ctx context.Context, mgr ctrl.Manager) error {
		return controllers.Register(ctx, mgr, options)
	})
}

// start runs a manager until Stop, or until the function that it returns is
// called. Without namespaces it looks at the whole cluster.
func (e *Env) start(config *rest.Config, namespaces []string, register func(context.Context, ctrl.Manager) error) (func() error, error) {
	options := controllers.ManagerOptions(namespaces...)
	if config == e.operator {
		options.NewClient = e.Requests.client
	}
	stop, err := StartManager(config, options, register)
	if err != nil {
		return nil, err
	}
	e.stops = append(e.stops, stop)
	return stop, nil
}

// StartManager runs a manager until the function that it returns is called,
// which waits for the end. Several may run in one process.
func StartManager(config *rest.Config, options ctrl.Options, register func(context.Context, ctrl.Manager) error) (stop func() error, err error) {
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	options.Controller.SkipNameValidation = ptr.To(true)
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("set up a manager: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := register(ctx, mgr); err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-ended
	}), nil
}

// Stop stops everything, what was started last first. When the operator has
// ended, it proves that no secret value stands outside of Secrets, publishes the
// figures `canaries` and `canary-hits`, and leaves the used rights for
// test/rbac/cmd/rbac.
func (e *Env) Stop() error {
	var err error
	for i := len(e.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, e.stops[i]())
	}
	e.stops = nil
	return err
}

// Path is a path below the root of the source tree.
func Path(elements ...string) string {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	return filepath.Join(append([]string{root}, elements...)...)
}
