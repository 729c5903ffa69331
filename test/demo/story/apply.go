package story

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
)

func applySample(ctx context.Context, w *world) error {
	if _, err := w.Kubectl(ctx, "apply", "--server-side", "-k", sample); err != nil {
		return err
	}
	w.Line("   kubectl apply --server-side -k %s", sample)
	err := w.await(ctx, "the server is deployed, bootstrapped and ready", func(ctx context.Context) error {
		server := &v1alpha1.TerdutServer{}
		if err := w.get(ctx, platform, serverName, server); err != nil {
			return err
		}
		return object{"TerdutServer", server, server.Status.ObservedGeneration, server.Status.Conditions, 0}.settled()
	})
	if err != nil {
		return err
	}
	if err = w.connect(ctx); err != nil {
		return err
	}
	if err = environment(ctx, w); err != nil {
		return err
	}
	err = w.await(ctx, "the escalation rule waits for a user who is not there", func(ctx context.Context) error {
		return w.shows(ctx, "TerdutEscalationRule", v1alpha1.ReasonUserNotFound)
	})
	if err != nil {
		return err
	}
	return w.tell(ctx, "TerdutEscalationRule")
}

// environment shows what the operator has rendered into the Deployment: the server's process has exactly that. Values that
// come from Secrets stand there by name only.
func environment(ctx context.Context, w *world) error {
	deployment := &appsv1.Deployment{}
	if err := w.get(ctx, platform, serverName, deployment); err != nil {
		return err
	}
	var names []string
	for _, variable := range deployment.Spec.Template.Spec.Containers[0].Env {
		if variable.Name == "PGPASSWORD" && (variable.Value != "" || variable.ValueFrom == nil) {
			return fmt.Errorf("PGPASSWORD stands in Deployment %s/%s in the clear", platform, serverName)
		}
		names = append(names, variable.Name)
	}
	w.Line("   the server's environment: %s", strings.Join(names, " "))
	return nil
}

func createUser(ctx context.Context, w *world) error {
	alice, err := w.api.CreateUser(ctx, username, username+"@example.com")
	if err != nil {
		return fmt.Errorf("create user %q: %w", username, err)
	}
	w.aliceID = alice.ID
	w.Line("   POST /api/users: %s is user %d", alice.Username, alice.ID)
	if err = w.await(ctx, "the rule finds her, and all five are ready", w.allSettled); err != nil {
		return err
	}
	return w.tell(ctx, "TerdutEscalationRule")
}
