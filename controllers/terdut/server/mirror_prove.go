package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/apply"
	"git.ryuvia.com/niklas/terdut-operator/controllers/terdut/refs"
)

// errUnwanted: a namespace is not to have a copy, whatever the cache shows.
var errUnwanted = errors.New("the namespace is not to have a copy of the key any more")

// proveWanted reads past the cache whether a namespace is to have a copy of the
// operator's key, before the first one goes there. A cache that lags knows of no
// consent that was revoked, no team that goes and no other mode; and a copy that
// went where it should not cannot be taken back.
func (r *Reconciler) proveWanted(ctx context.Context, server *v1alpha1.TerdutServer, namespace string) error {
	now, err := r.present(ctx, server)
	if err != nil {
		return err
	}
	return r.wantedAtPresent(ctx, now, namespace)
}

// present is a server as it is now, past the cache; errUnwanted if it is gone, or
// going.
func (r *Reconciler) present(ctx context.Context, server *v1alpha1.TerdutServer) (*v1alpha1.TerdutServer, error) {
	key := client.ObjectKeyFromObject(server)
	now := &v1alpha1.TerdutServer{}
	switch err := r.Live.Get(ctx, key, now); {
	case apierrors.IsNotFound(err):
		return nil, errUnwanted
	case err != nil:
		return nil, fmt.Errorf("read TerdutServer %s before its key is copied: %w", key, err)
	case now.UID != server.UID || now.DeletionTimestamp != nil:
		return nil, errUnwanted
	}
	return now, nil
}

// wantedAtPresent tells by errUnwanted that a namespace is not to have a copy of
// the key of a server, which was read past the cache, as the teams are.
func (r *Reconciler) wantedAtPresent(ctx context.Context, now *v1alpha1.TerdutServer, namespace string) error {
	key := client.ObjectKeyFromObject(now)
	list := &v1alpha1.TerdutTeamList{}
	if err := r.Live.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the TerdutTeams of namespace %q before the key of TerdutServer %s is copied there: %w", namespace, key, err)
	}
	teams := slices.DeleteFunc(list.Items, func(team v1alpha1.TerdutTeam) bool { return refs.ServerOf(&team) != key })
	wanted, err := r.wantedMirrors(ctx, r.Live, now, teams)
	if err == nil && !slices.Contains(wanted, namespace) {
		err = errUnwanted
	}
	return err
}

// proveUnwanted reads past the cache that namespaces are to lose their copies,
// before anything says so. A cache that shows no team for a moment would cost
// the copy and the key with it. For a server that goes this is proved already.
func (r *Reconciler) proveUnwanted(ctx context.Context, server *v1alpha1.TerdutServer, namespaces []string) error {
	if server.DeletionTimestamp != nil || len(namespaces) == 0 {
		return nil
	}
	now, err := r.present(ctx, server)
	if errors.Is(err, errUnwanted) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, namespace := range namespaces {
		switch err = r.wantedAtPresent(ctx, now, namespace); {
		case err == nil:
			return lookAgainAtMirror(server, namespace, "the namespace is to have it, and the cache does not show that yet")
		case !errors.Is(err, errUnwanted):
			return err
		}
	}
	return nil
}

// lookAgainAtMirror ends a pass over a copy of the key of which the cache does not
// show all.
func lookAgainAtMirror(server *v1alpha1.TerdutServer, namespace, why string) error {
	return &apply.LookAgain{
		Key: apply.Key{Version: "v1", Kind: "Secret", Namespace: namespace, Name: v1alpha1.MirrorSecretName(server.Name, server.Namespace)},
		Err: errors.New(why),
	}
}
