package story

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/demo/stage"
)

func setUp(ctx context.Context, w *world) error {
	if err := w.During("go build: operator and reference server", func() error { return w.Build(ctx) }); err != nil {
		return err
	}
	// This one shows its own progress, program by program.
	if err := w.Prepare(ctx, os.Stdout); err != nil {
		return err
	}
	err := w.During("a real control plane (etcd, API server, controller manager)", func() error { return w.StartCluster(ctx) })
	if err != nil {
		return err
	}
	if err = w.During("a node that runs pods as local processes", func() error { return w.StartNode(ctx) }); err != nil {
		return err
	}
	if err = w.During("kubectl apply --server-side: config/crd, config/rbac", func() error { return install(ctx, w) }); err != nil {
		return err
	}
	if err = w.During("the operator, as the user of its manifests", func() error { return w.StartOperator(ctx) }); err != nil {
		return err
	}
	return restricted(ctx, w)
}

// install applies what a cluster gets, save the operator's Deployment: it runs as a process here.
func install(ctx context.Context, w *world) error {
	for _, what := range [][]string{{"-k", "config/crd"}, {"-f", "config/default/namespace.yaml"}, {"-k", "config/rbac"}} {
		if _, err := w.Kubectl(ctx, append([]string{"apply", "--server-side"}, what...)...); err != nil {
			return err
		}
	}
	_, err := w.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	return err
}

// restricted proves that the operator has its own rights and no others.
func restricted(ctx context.Context, w *world) error {
	config, err := w.As(stage.OperatorUser)
	if err != nil {
		return err
	}
	operator, err := client.New(config, client.Options{Scheme: w.Kube.Scheme()})
	if err != nil {
		return fmt.Errorf("make a client with the operator's rights: %w", err)
	}
	if err = operator.List(ctx, &v1alpha1.TerdutServerList{}); err != nil {
		return fmt.Errorf("list TerdutServers as the operator: %w", err)
	}
	switch err = operator.List(ctx, &corev1.PodList{}); {
	case err == nil:
		return errors.New("the operator may list pods, which its role does not say")
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("list pods as the operator: %w", err)
	}
	w.Line("   Kubernetes %s; the operator may do what config/rbac/role.yaml says and nothing else", w.Version())
	return nil
}
