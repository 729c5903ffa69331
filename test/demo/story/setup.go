package story

import (
	"context"
	"errors"
	"fmt"
	"os"

	authorizationv1 "k8s.io/api/authorization/v1"
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

// restricted proves that the operator has rights, and is no administrator.
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
	everything := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"},
	}}
	if err = operator.Create(ctx, everything); err != nil {
		return fmt.Errorf("ask what the operator may do: %w", err)
	}
	if everything.Status.Allowed {
		return errors.New("the operator may do everything, and should have the rights of config/rbac only")
	}
	w.Line("   Kubernetes %s; the operator has the rights of config/rbac and no others", w.Version())
	return nil
}
