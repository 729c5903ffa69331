package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"git.ryuvia.com/niklas/terdut-operator/config/crd"
	"git.ryuvia.com/niklas/terdut-operator/controllers"
	"git.ryuvia.com/niklas/terdut-operator/controllers/crds"
)

// upgradeCRDs comes before the manager, which asks for the kinds as they are
// then. Every replica does it: the one that works may be of an older version.
func upgradeCRDs(ctx context.Context, cfg *rest.Config) error {
	definitions, err := crd.All()
	if err != nil {
		return err
	}
	c, err := controllers.NewClient(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("make a client for custom resource definitions: %w", err)
	}
	return crds.Upgrade(ctrl.LoggerInto(ctx, ctrl.Log.WithName("crds")), c, definitions)
}
