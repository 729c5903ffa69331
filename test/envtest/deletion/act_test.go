package deletion_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/test/refserver"
	"git.ryuvia.com/niklas/terdut-operator/test/testenv/steps"
)

// withdraw takes the consent back, and waits until everything knows.
func (w *world) withdraw(ctx context.Context) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"allowedTeams":{"namespaces":{"from":"None"}}}}`))
	if err := env.Admin.Patch(ctx, w.server, patch); err != nil {
		return err
	}
	return until(ctx, "everything to say RefNotPermitted", func(ctx context.Context) (bool, error) {
		for _, o := range w.objects() {
			if err := read(ctx, o); err != nil {
				return false, err
			}
			c := meta.FindStatusCondition(steps.Conditions(o), v1alpha1.ConditionReferencesResolved)
			if c == nil || c.Reason != v1alpha1.ReasonRefNotPermitted {
				return false, nil
			}
		}
		return true, nil
	})
}

// spoil brings the operator's key into its state.
func (w *world) spoil(ctx context.Context, to keyState) error {
	if to == good {
		return nil
	}
	for _, key := range w.peer.LiveKeys() {
		if w.scoped(key.OwnerID) {
			continue // a tenant's own
		}
		if err := w.peer.Model().DeleteKey(key.OwnerID, key.ID); err != nil {
			return err
		}
	}
	if to == revoked {
		return nil
	}
	for _, name := range []string{v1alpha1.CredentialsSecretName(serverName), v1alpha1.NextCredentialsSecretName(serverName)} {
		if err := w.takeAway(ctx, w.secret(w.platform, name)); err != nil {
			return err
		}
	}
	return until(ctx, "the operator to know that its key is lost", w.hasNoKey)
}

// hasNoKey tells whether the operator has given its key up for good. It remembers
// a key, and writes it back as long as it believes that the server accepts it. On
// a server that it deploys it then tries once more to be the first, and keeps a
// Secret that says how that ended.
func (w *world) hasNoKey(ctx context.Context) (bool, error) {
	if err := read(ctx, w.server); err != nil {
		return false, err
	}
	if !meta.IsStatusConditionFalse(w.server.Status.Conditions, v1alpha1.ConditionBootstrapped) {
		return false, nil
	}
	secret := w.secret(w.platform, v1alpha1.CredentialsSecretName(serverName))
	if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		return apierrors.IsNotFound(err) && w.server.Spec.External != nil, client.IgnoreNotFound(err)
	}
	attempt := secret.Annotations[v1alpha1.AnnotationBootstrapAttempt]
	ended := strings.HasPrefix(attempt, "refused")
	switch {
	case len(secret.Data) == 0:
		return ended, nil
	case ended || attempt == "":
		return false, w.takeAway(ctx, secret)
	}
	return false, nil // it is being tried
}

// scoped tells the account of a team.
func (w *world) scoped(owner int64) bool {
	for _, a := range w.peer.Accounts() {
		if a.ID == owner {
			return a.TeamID != 0
		}
	}
	return false
}

// takeAway deletes an object whatever its finalizers say.
func (w *world) takeAway(ctx context.Context, o client.Object) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := client.IgnoreNotFound(env.Admin.Delete(ctx, o)); err != nil {
		return err
	}
	return client.IgnoreNotFound(env.Admin.Patch(ctx, o, patch))
}

// bring brings the server into its state.
func (w *world) bring(ctx context.Context, c cell) error {
	switch c.server {
	case failing:
		w.peer.SetFault(func(*http.Request, string) refserver.Fault { return refserver.JSONError(500, "internal error") })
	case unreachable:
		w.peer.Down(true)
	case terminating:
		return w.terminate(ctx, c)
	case gone:
		return until(ctx, "the TerdutServer to be taken away", func(ctx context.Context) (bool, error) {
			if err := w.takeAway(ctx, w.server); err != nil {
				return false, err
			}
			err := env.Admin.Get(ctx, client.ObjectKeyFromObject(w.server), &v1alpha1.TerdutServer{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	}
	return nil
}

// terminate deletes the TerdutServer, which its live teams hold. Deleted in the
// foreground it loses its Deployment at once, while the Secret with the key
// stays, terminating and readable.
func (w *world) terminate(ctx context.Context, c cell) error {
	inForeground := c.trigger == byForeground
	how := metav1.DeletePropagationBackground
	if inForeground {
		how = metav1.DeletePropagationForeground
	}
	if err := env.Admin.Delete(ctx, w.server, client.PropagationPolicy(how)); err != nil {
		return err
	}
	return until(ctx, "the TerdutServer to say that its teams hold it", func(ctx context.Context) (bool, error) {
		if err := read(ctx, w.server); err != nil {
			return false, err
		}
		degraded := meta.FindStatusCondition(w.server.Status.Conditions, v1alpha1.ConditionDegraded)
		if degraded == nil || degraded.Reason != v1alpha1.ReasonTeamsAttached {
			return false, nil
		}
		if !inForeground || !c.deployed() {
			return true, nil
		}
		err := env.Admin.Get(ctx, client.ObjectKeyFromObject(w.server), &appsv1.Deployment{})
		if !apierrors.IsNotFound(err) {
			return false, err
		}
		return c.key == missing || w.keyIsKept(ctx), nil
	})
}

// keyIsKept tells whether the Secret with the operator's key terminates and can
// still be read.
func (w *world) keyIsKept(ctx context.Context) bool {
	secret := &corev1.Secret{}
	err := env.Admin.Get(ctx, types.NamespacedName{Namespace: w.platform, Name: v1alpha1.CredentialsSecretName(serverName)}, secret)
	return err == nil && secret.DeletionTimestamp != nil && string(secret.Data[v1alpha1.CredentialsKey]) == w.key
}

// pull deletes what the cell is about.
func (w *world) pull(ctx context.Context, by trigger) error {
	namespace := func(name string) client.Object { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	switch by {
	case byTenantNamespace:
		return env.Admin.Delete(ctx, namespace(w.tenant))
	case byServerNamespace:
		if err := env.Admin.Delete(ctx, namespace(w.platform)); err != nil {
			return err
		}
		err := until(ctx, "the server's namespace to go although teams live on the server", func(ctx context.Context) (bool, error) {
			err := env.Admin.Get(ctx, types.NamespacedName{Name: w.platform}, &corev1.Namespace{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			return err
		}
		return deleteAll(ctx, w.objects())
	case byBothNamespaces:
		return w.pullBoth(ctx, namespace(w.platform), namespace(w.tenant))
	case byOwner:
		return env.Admin.Delete(ctx, w.owner)
	case byForeground:
		return deleteAll(ctx, w.objects(), client.PropagationPolicy(metav1.DeletePropagationForeground))
	default:
		return w.pullInOrder(ctx)
	}
}

// pullBoth deletes both namespaces. The tenant's goes when the server has begun
// to: so nobody has to guess which of them the operator saw first.
func (w *world) pullBoth(ctx context.Context, platform, tenant client.Object) error {
	if err := env.Admin.Delete(ctx, platform); err != nil {
		return err
	}
	err := until(ctx, "the TerdutServer to be deleted with its namespace", func(ctx context.Context) (bool, error) {
		err := env.Admin.Get(ctx, client.ObjectKeyFromObject(w.server), w.server)
		return apierrors.IsNotFound(err) || w.server.DeletionTimestamp != nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	return env.Admin.Delete(ctx, tenant)
}

// pullInOrder deletes what belongs to the team, and the team when all of that
// is gone or says why it is not.
func (w *world) pullInOrder(ctx context.Context) error {
	if err := deleteAll(ctx, w.children()); err != nil {
		return err
	}
	err := until(ctx, "what belongs to the team to go or to say why not", func(ctx context.Context) (bool, error) {
		for _, o := range w.children() {
			switch err := read(ctx, o); {
			case apierrors.IsNotFound(err):
			case err != nil:
				return false, err
			case !meta.IsStatusConditionTrue(steps.Conditions(o), v1alpha1.ConditionDegraded):
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, w.describe())
	}
	return deleteAll(ctx, []client.Object{w.team})
}

func deleteAll(ctx context.Context, objects []client.Object, options ...client.DeleteOption) error {
	for _, o := range objects {
		if err := env.Admin.Delete(ctx, o, options...); err != nil {
			return err
		}
	}
	return nil
}

// forceOrphan is the way out: on the TerdutServer where its owner has to help,
// because it terminates itself or because the tenant's namespace does, and else
// on each object.
func (w *world) forceOrphan(ctx context.Context, c cell) error {
	objects := w.objects()
	if c.server == terminating || c.trigger == byTenantNamespace {
		objects = []client.Object{w.server}
	}
	patch := client.RawPatch(types.MergePatchType,
		[]byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.AnnotationForceOrphan)))
	for _, o := range objects {
		if err := client.IgnoreNotFound(env.Admin.Patch(ctx, o, patch)); err != nil {
			return err
		}
	}
	return nil
}
