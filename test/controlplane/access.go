package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Requests per second and burst of the users made here: the client's own limits would only slow tests down.
const (
	userQPS   = 1000
	userBurst = 2000
)

// AddUser makes a user of that name in those groups, who logs in with a client certificate, and returns the user's access.
// The user has the rights that RBAC gives to the name and the groups, and no others. Adding the same user again gives a
// second certificate.
func (p *ControlPlane) AddUser(name string, groups ...string) (*rest.Config, error) {
	user, err := p.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: userQPS, Burst: userBurst})
	if err != nil {
		return nil, fmt.Errorf("add user %q: %w", name, err)
	}
	return user.Config(), nil
}

// Kubeconfig is a kubeconfig file with the access of user, a config from [ControlPlane.AddUser]; nil means the
// administrator. It holds the user's private key.
func (p *ControlPlane) Kubeconfig(user *rest.Config) ([]byte, error) {
	if user == nil {
		user = p.Config
	}
	const name = "controlplane"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: user.Host, CertificateAuthorityData: user.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: user.CertData, ClientKeyData: user.KeyData, Token: user.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return content, nil
}

// KubeconfigFile writes [ControlPlane.Kubeconfig] to path, readable by the owner only.
func (p *ControlPlane) KubeconfigFile(path string, user *rest.Config) error {
	content, err := p.Kubeconfig(user)
	if err != nil {
		return err
	}
	if err = os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// Kubectl is a kubectl command with the administrator's access. Its cache lies in the control plane's own directory.
func (p *ControlPlane) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	flags := []string{"--kubeconfig=" + p.AdminKubeconfig(), "--cache-dir=" + filepath.Join(p.keeper.dir, "kubectl-cache")}
	return exec.CommandContext(ctx, p.Assets.Kubectl, append(flags, args...)...)
}

// AdminKubeconfig is the path of a kubeconfig file with the administrator's access. [ControlPlane.Stop] removes it.
func (p *ControlPlane) AdminKubeconfig() string {
	return filepath.Join(p.keeper.dir, "admin.kubeconfig")
}
