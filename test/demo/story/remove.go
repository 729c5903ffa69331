package story

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/demo/stage"
)

// remove takes the sample away in the order in which its owners would: the team, then the server, then the namespaces.
func remove(ctx context.Context, w *world) error {
	err := w.delete(ctx, "the payments team and what belongs to it", "-n", payments, "--all",
		"terdutalertsources,terdutdeadmanswitches,terdutescalationrules,terdutteams")
	if err != nil {
		return err
	}
	if err = emptied(ctx, w); err != nil {
		return err
	}
	if err = w.delete(ctx, "the server", "-n", platform, "terdutserver", serverName); err != nil {
		return err
	}
	err = w.await(ctx, "Deployment, Service, Secrets, pod and process of the server are gone", func(ctx context.Context) error {
		return collected(ctx, w)
	})
	if err != nil {
		return err
	}
	if err = w.delete(ctx, "what is left of the sample: the namespaces", "--ignore-not-found", "-k", sample); err != nil {
		return err
	}
	return gone(ctx, w)
}

// delete runs kubectl delete, which waits until what it deletes is gone.
func (w *world) delete(ctx context.Context, what string, args ...string) error {
	return w.During("kubectl delete: "+what, func() error {
		_, err := w.Kubectl(ctx, append([]string{"delete", "--timeout=" + patience.String()}, args...)...)
		return err
	})
}

// emptied proves that the server, which still runs, has nothing of the team any more.
func emptied(ctx context.Context, w *world) error {
	teams, err := w.api.ListTeams(ctx)
	if err != nil {
		return fmt.Errorf("list the teams on the server: %w", err)
	}
	if len(teams) != 0 {
		return fmt.Errorf("the server still has %d teams", len(teams))
	}
	w.Line("ok GET /api/teams: none left")
	return nil
}

// collected complains about what the operator has made and is still there.
func collected(ctx context.Context, w *world) error {
	ours := client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.SecretList{}} {
		if err := empty(ctx, w, list, ours); err != nil {
			return err
		}
	}
	if err := empty(ctx, w, &corev1.PodList{}, client.InNamespace(platform)); err != nil {
		return err
	}
	if n := stage.Servers(); n > 0 {
		return fmt.Errorf("%d processes of the server still run", n)
	}
	return nil
}

// gone proves that nothing of the sample is left in the cluster.
func gone(ctx context.Context, w *world) error {
	for _, list := range []client.ObjectList{
		&v1alpha1.TerdutServerList{}, &v1alpha1.TerdutTeamList{}, &v1alpha1.TerdutEscalationRuleList{},
		&v1alpha1.TerdutDeadmanSwitchList{}, &v1alpha1.TerdutAlertSourceList{},
	} {
		if err := empty(ctx, w, list); err != nil {
			return err
		}
	}
	for _, name := range []string{platform, payments} {
		err := w.Kube.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(fmt.Errorf("namespace %s is still there", name), err)
		}
	}
	w.Line("ok no custom resource and no namespace of the sample is left")
	return nil
}

// empty complains about what a list holds.
func empty(ctx context.Context, w *world, list client.ObjectList, options ...client.ListOption) error {
	if err := w.Kube.List(ctx, list, options...); err != nil {
		return fmt.Errorf("list what is left: %w", err)
	}
	if n := meta.LenList(list); n > 0 {
		return fmt.Errorf("%d objects left in a %T", n, list)
	}
	return nil
}
