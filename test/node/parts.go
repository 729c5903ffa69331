package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"git.ryuvia.com/niklas/terdut-operator/test/controlplane/source"
)

func (n *Node) startEtcd(ctx context.Context) error {
	return n.launch(ctx, part{
		name: etcd,
		args: []string{
			"--data-dir=/node/etcd",
			"--listen-client-urls=" + etcdURL, "--advertise-client-urls=" + etcdURL,
			"--listen-peer-urls=http://127.0.0.1:2380",
			// The data end with the node. What a killed etcd has written stays in the kernel's cache.
			"--unsafe-no-fsync",
		},
		works: func(ctx context.Context) error { return n.get(ctx, etcdURL+"/health") },
	})
}

func (n *Node) startAPIServer(ctx context.Context) error {
	return n.launch(ctx, part{
		name: apiServer,
		args: []string{
			"--etcd-servers=" + etcdURL,
			"--advertise-address=" + nodeAddress, "--secure-port=" + apiServerPort,
			"--service-cluster-ip-range=" + serviceRange,
			"--tls-cert-file=/node/pki/apiserver.crt", "--tls-private-key-file=/node/pki/apiserver.key",
			"--client-ca-file=/node/pki/ca.crt",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=/node/pki/serviceaccounts.pub",
			"--service-account-signing-key-file=/node/pki/serviceaccounts.key",
			"--kubelet-certificate-authority=/node/pki/ca.crt",
			"--kubelet-client-certificate=/node/pki/apiserver-client.crt",
			"--kubelet-client-key=/node/pki/apiserver-client.key",
			"--kubelet-preferred-address-types=InternalIP",
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
			"--allow-privileged",
		},
		works: n.apiServerReady,
	})
}

func (n *Node) apiServerReady(ctx context.Context) error {
	typed, err := n.client()
	if err != nil {
		return err
	}
	if err = typed.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("ask whether it is ready: %w", err)
	}
	// Without it pods get no priority; it is made after the server has said that it is ready.
	if _, err = typed.SchedulingV1().PriorityClasses().Get(ctx, "system-cluster-critical", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("get a priority class that it makes: %w", err)
	}
	return nil
}

func (n *Node) startManager(ctx context.Context) error {
	return n.launch(ctx, part{
		name: controllerManager,
		args: []string{
			"--kubeconfig=/node/pki/kube-controller-manager.kubeconfig",
			"--bind-address=127.0.0.1", "--leader-elect=false",
			"--service-account-private-key-file=/node/pki/serviceaccounts.key", "--root-ca-file=/node/pki/ca.crt",
			// The defaults spare a shared API server; here they only make tests wait.
			"--kube-api-qps=1000", "--kube-api-burst=2000",
		},
		works: func(ctx context.Context) error {
			typed, err := n.client()
			if err != nil {
				return err
			}
			if _, err = typed.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
				return fmt.Errorf("get a service account that it makes: %w", err)
			}
			return nil
		},
	})
}

func (n *Node) startScheduler(ctx context.Context) error {
	return n.launch(ctx, part{
		name:  scheduler,
		args:  []string{"--kubeconfig=/node/pki/kube-scheduler.kubeconfig", "--bind-address=127.0.0.1", "--leader-elect=false"},
		works: func(context.Context) error { return nil }, // CoreDNS will not run without it
	})
}

// startContainerd also gives it the images that the node is made with.
func (n *Node) startContainerd(ctx context.Context) error {
	err := n.launch(ctx, part{
		name: containerd,
		args: []string{"--config=/node/config/containerd.toml"},
		works: func(ctx context.Context) error {
			return n.space.Command(ctx, ctrBinary, "--address="+containerdSocket, "version").Run()
		},
	})
	if err != nil {
		return err
	}
	for _, image := range []Image{
		{Name: pauseImage, Files: map[string]string{"/pause": n.Programs.Pause}, Entrypoint: []string{"/pause"}},
		{Name: coreDNSImage, Files: map[string]string{"/coredns": n.Programs.CoreDNS}, Entrypoint: []string{"/coredns"}},
	} {
		path := filepath.Join(n.dir, filepath.Base(image.Entrypoint[0])+".tar")
		if err = WriteImage(path, image); err != nil {
			return err
		}
		if err = errors.Join(n.LoadImage(ctx, path), os.Remove(path)); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) startKubelet(ctx context.Context) error {
	return n.launch(ctx, part{
		name: kubelet,
		args: []string{
			"--config=/node/config/kubelet.yaml", "--kubeconfig=/node/pki/kubelet.kubeconfig",
			"--hostname-override=" + Name, "--node-ip=" + nodeAddress, "--root-dir=/node/kubelet",
		},
		works: func(ctx context.Context) error {
			typed, err := n.client()
			if err != nil {
				return err
			}
			return nodeReady(ctx, typed)
		},
	})
}

func (n *Node) startProxy(ctx context.Context) error {
	return n.launch(ctx, part{
		name:  proxy,
		args:  []string{"--config=/node/config/kube-proxy.yaml"},
		works: func(ctx context.Context) error { return n.get(ctx, "http://127.0.0.1:10256/livez") },
	})
}

// startDNS applies CoreDNS and waits until it is available.
func (n *Node) startDNS(ctx context.Context) error {
	done := source.Progress(n.log, "starting coredns in a pod")
	err := n.applyDNS(ctx)
	if err == nil {
		err = n.await(ctx, kubelet, n.dnsAvailable)
	}
	done(err)
	if err != nil {
		return fmt.Errorf("start coredns: %w", err)
	}
	return nil
}

func (n *Node) applyDNS(ctx context.Context) error {
	cmd := n.Kubectl(ctx, "apply", "--server-side", "-f", filepath.Join(n.dir, "config", "coredns.yaml"))
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apply its objects: %s", source.LastLine(string(output), err))
	}
	return nil
}

func (n *Node) dnsAvailable(ctx context.Context) error {
	typed, err := n.client()
	if err != nil {
		return err
	}
	deployment, err := typed.AppsV1().Deployments("kube-system").Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get its Deployment: %w", err)
	}
	if deployment.Status.AvailableReplicas == 0 {
		return errors.New("its Deployment has no pod available")
	}
	return nil
}

// client is a typed client of the administrator.
func (n *Node) client() (kubernetes.Interface, error) {
	typed, err := kubernetes.NewForConfig(rest.CopyConfig(n.config))
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return typed, nil
}
