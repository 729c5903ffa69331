package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/test/e2e/cluster"
	"git.ryuvia.com/niklas/terdut-operator/test/e2e/images"
	"git.ryuvia.com/niklas/terdut-operator/test/e2e/sides"
	"git.ryuvia.com/niklas/terdut-operator/test/e2e/tunnel"
	"git.ryuvia.com/niklas/terdut-operator/test/helm"
)

// Namespaces. The sample has its own names for two of them.
const (
	system   = "terdut-system"
	platform = "platform-oncall"
	payments = "payments"
	legacy   = "terdut-legacy"
	outside  = "terdut-e2e"
)

// Names in the sample.
const (
	serverName = "terdut"
	teamName   = "payments-team"
	sourceName = "payments-alertmanager"
	username   = "alice"
)

// world is what the steps share.
type world struct {
	root, dir string
	cluster   cluster.Cluster
	kube      client.Client
	tunnel    *tunnel.Tunnel
	sides     sides.Cluster
	helm      *helm.Helm
	operator  images.Image
	previous  previous
	server    serverImages
	postgres  images.Image
	// postgresBin is the directory of initdb and postgres in the image.
	postgresBin  string
	alertmanager images.Image
	database     *database
	killer       *killer
}

// newWorld makes images and a cluster, both at once, and brings them together.
func newWorld(ctx context.Context, root, dir string) (*world, error) {
	w := &world{root: root, dir: dir}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, fmt.Errorf("make the suite's directory: %w", err)
	}
	group, building := errgroup.WithContext(ctx)
	group.Go(func() error { return w.build(building) })
	group.Go(func() (err error) {
		// The node must outlive the group.
		w.cluster, err = cluster.Start(ctx, dir, os.Stdout)
		return err
	})
	err := group.Wait()
	if err == nil {
		err = w.connect(ctx)
	}
	if err == nil {
		err = w.load(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.stop(context.WithoutCancel(ctx)))
	}
	return w, nil
}

// connect makes the clients.
func (w *world) connect(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", w.cluster.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 100, 200
	if w.kube, err = client.New(config, client.Options{Scheme: controllers.Scheme()}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	w.tunnel = tunnel.New(config, w.kube)
	w.sides = sides.Cluster{Kube: w.kube, HTTP: w.tunnel.Client()}
	w.killer = newKiller(w.kube, w.cluster.KillContainer)
	w.database = &database{tunnel: w.tunnel}
	w.helm, err = helm.New(ctx, helm.V4, w.cluster.Kubeconfig(), filepath.Join(w.dir, "helm"))
	return err
}

// load makes the images known to the cluster.
func (w *world) load(ctx context.Context) error {
	all := []images.Image{w.operator, w.postgres, w.alertmanager, w.previous.operator}
	for _, image := range append(all, w.server.archives...) {
		if image.Archive == "" {
			continue
		}
		if err := w.cluster.LoadImage(ctx, image.Archive); err != nil {
			return err
		}
	}
	return nil
}

// stop ends everything that was started. It may be called at any time.
func (w *world) stop(ctx context.Context) error {
	if w.killer != nil {
		w.killer.stop()
	}
	if w.cluster == nil {
		return nil
	}
	return w.cluster.Stop(ctx)
}

// kubectl runs kubectl and returns what it prints.
func (w *world) kubectl(ctx context.Context, args ...string) (string, error) {
	return w.kubectlWith(ctx, "", args...)
}

// kubectlWith gives kubectl something to read.
func (w *world) kubectlWith(ctx context.Context, stdin string, args ...string) (string, error) {
	flags := []string{"--kubeconfig", w.cluster.Kubeconfig(), "--cache-dir", filepath.Join(w.dir, "kubectl-cache")}
	cmd := exec.CommandContext(ctx, w.cluster.Kubectl(), append(flags, args...)...)
	cmd.Dir, cmd.Stdin = w.root, strings.NewReader(stdin)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	output, err := cmd.Output()
	if err != nil {
		return string(output), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return string(output), nil
}

// kubectlOK is kubectl where a failure ends the step.
func (w *world) kubectlOK(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := w.kubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

// apply applies a template of testdata, server-side.
func (w *world) apply(ctx context.Context, name string, values any) error {
	text, err := w.render(name, values)
	if err != nil {
		return err
	}
	_, err = w.kubectlWith(ctx, text, "apply", "--server-side", "--force-conflicts", "-f", "-")
	return err
}

// get reads an object, and ends the step when it cannot.
func (w *world) get(ctx context.Context, namespace, name string, obj client.Object) {
	GinkgoHelper()
	Expect(w.kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)).To(Succeed())
}

// dump keeps what explains a failure: the custom resources, what runs, Events, and what the operators say.
func (w *world) dump() {
	ctx := context.Background()
	for file, args := range map[string]string{
		"resources.yaml": "get terdutservers,terdutteams,terdutescalationrules,terdutdeadmanswitches,terdutalertsources -A -o yaml",
		"objects.txt":    "get all,secrets,leases -A -o wide",
		"events.txt":     "get events -A --sort-by=.lastTimestamp",
		"pods.txt":       "describe pods -A",
		"operator.log":   "logs -n " + system + " -l app.kubernetes.io/name=terdut-operator --prefix --tail=-1",
		"previous.log":   "logs -n " + system + " -l app.kubernetes.io/name=terdut-operator --prefix --tail=-1 --previous",
		"server.log":     "logs -n " + platform + " -l app.kubernetes.io/name=terdut-server --prefix --tail=-1",
	} {
		output, err := w.kubectl(ctx, strings.Fields(args)...)
		if err != nil {
			output += "\n" + err.Error() + "\n"
		}
		if err = os.WriteFile(filepath.Join(w.dir, file), []byte(output), 0o600); err != nil {
			say("keep %s: %v", file, err)
		}
	}
	say("what explains the failure is in %s", w.dir)
}
