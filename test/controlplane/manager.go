package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/process"
)

// managerPoll is how often the controllers are asked whether they work.
const managerPoll = 100 * time.Millisecond

// startManager starts kube-controller-manager and waits until its controllers work.
func (p *ControlPlane) startManager(ctx context.Context, options Options) error {
	user, err := p.AddUser("system:kube-controller-manager", "system:masters")
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(p.keeper.dir, "manager.kubeconfig")
	if err = p.KubeconfigFile(kubeconfig, user); err != nil {
		return err
	}
	ca := filepath.Join(p.keeper.dir, "ca.crt")
	if err = os.WriteFile(ca, p.Config.CAData, 0o600); err != nil {
		return fmt.Errorf("write CA of the API server: %w", err)
	}
	path, err := p.keeper.wrap(controllerManagerBinary, p.Assets.KubeControllerManager)
	if err != nil {
		return err
	}
	log, err := p.openLog(controllerManagerBinary)
	if err != nil {
		return err
	}
	cmd := exec.Command(path,
		"--kubeconfig="+kubeconfig,
		"--controllers="+strings.Join(options.Controllers, ","),
		"--leader-elect=false",
		// No port: nobody asks it anything, and nothing can be in the way.
		"--secure-port=0",
		"--service-account-private-key-file="+filepath.Join(p.keeper.dir, "apiserver", "sa-signer.key"),
		"--root-ca-file="+ca,
		// The defaults spare a shared API server; here they only make tests wait.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--v="+strconv.Itoa(options.Verbosity),
	)
	cmd.Stdout, cmd.Stderr = log, log
	if p.manager, err = process.Start(cmd); err != nil {
		return err
	}
	if err = p.awaitControllers(ctx, options.Controllers); err != nil {
		return p.explain(fmt.Errorf("start kube-controller-manager: %w", err), controllerManagerBinary)
	}
	return nil
}

var errManagerEnded = errors.New("it ended")

// awaitControllers waits for an effect of each controller that has one without further objects.
func (p *ControlPlane) awaitControllers(ctx context.Context, controllers []string) error {
	client, err := kubernetes.NewForConfig(p.Config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if slices.Contains(controllers, "serviceaccount-controller") {
		err = p.await(ctx, func(ctx context.Context) (bool, error) {
			_, getErr := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			return getErr == nil, ignoreNotFound(getErr)
		})
		if err != nil {
			return fmt.Errorf("wait for the service account of namespace default: %w", err)
		}
	}
	if !slices.Contains(controllers, "garbage-collector-controller") {
		return nil
	}
	// An object whose owner never existed is garbage from the first moment.
	orphan := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "controlplane-probe",
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "nobody", UID: "00000000-0000-0000-0000-000000000000",
		}},
	}}
	configMaps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	if _, err = configMaps.Create(ctx, orphan, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the garbage collector's probe: %w", err)
	}
	err = p.await(ctx, func(ctx context.Context) (bool, error) {
		_, getErr := configMaps.Get(ctx, orphan.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(getErr), ignoreNotFound(getErr)
	})
	if err != nil {
		return fmt.Errorf("wait for the garbage collector: %w", err)
	}
	return nil
}

// await polls condition until it holds, for as long as the controller manager lives.
func (p *ControlPlane) await(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	err := wait.PollUntilContextTimeout(ctx, managerPoll, startTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.manager.Done():
			return false, errManagerEnded
		default:
			return condition(ctx)
		}
	})
	if err != nil {
		return fmt.Errorf("poll: %w", err)
	}
	return nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
