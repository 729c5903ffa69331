package server

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "git.ryuvia.com/niklas/terdut-operator/api/terdut/v1alpha1"
	"git.ryuvia.com/niklas/terdut-operator/controllers/internal/status"
)

const (
	// maxMirrorNames is how many namespaces with copies the status names, and
	// maxExposed how many exposures it remembers.
	maxMirrorNames = 50
	maxExposed     = 1000
)

// retract takes the copies away that nobody is to have any more. It comes first
// in a pass: whatever else fails, a revoked consent takes effect, and no key is
// revoked while a copy of it is still to be recorded.
//
// Taking a copy away takes no knowledge away. Which namespace had which key is
// written down before the copy goes; wantedAt exchanges that key.
func (r *Reconciler) retract(ctx context.Context, server *v1alpha1.TerdutServer, wanted []string) error {
	found, err := r.mirrors(ctx, server)
	if err != nil {
		return err
	}
	// Nothing is known of a copy that is not to be seen: it stays as recorded.
	spared := slices.Concat(wanted, r.unwatched(server).Mirrors)
	if err = r.stillThere(ctx, server, spared, found); err != nil {
		return err
	}
	current, err := r.currentKey(ctx, server)
	if err != nil {
		return err
	}
	change := exposures(server, spared, found, current)
	if err = r.proveUnwanted(ctx, server, change.gone); err != nil {
		return err
	}
	if err = r.record(ctx, server, change.apply); err != nil {
		return err
	}
	for _, namespace := range change.gone {
		mirror, exists := found[namespace]
		if !exists {
			continue
		}
		if err = r.removeMirror(ctx, mirror); err != nil {
			return err
		}
		status.Emit(r.Recorder, server, status.Event{
			Warning: true, Reason: v1alpha1.ReasonMirrorRemoved,
			Message: fmt.Sprintf("took the copy of the operator's key away from namespace %q, which may still know it: the key is exchanged", namespace),
		})
	}
	return nil
}

// removeMirror deletes a copy, of exactly the version that was read.
func (r *Reconciler) removeMirror(ctx context.Context, mirror *corev1.Secret) error {
	err := r.Client.Delete(ctx, mirror, client.Preconditions{UID: &mirror.UID, ResourceVersion: &mirror.ResourceVersion})
	switch {
	case apierrors.IsConflict(err):
		return lookAgainAt(mirror, "it has changed meanwhile")
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("delete Secret %s: %w", client.ObjectKeyFromObject(mirror), err)
	}
	return nil
}

// stillThere looks at the copies that are to go as they are now: one that the
// cache shows and that has gone would be taken away, and its key exchanged,
// twice. So would one that the cache does not show, and the status names.
func (r *Reconciler) stillThere(ctx context.Context, server *v1alpha1.TerdutServer, spared []string, found map[string]*corev1.Secret) error {
	for _, namespace := range copyHolders(server, found) {
		if slices.Contains(spared, namespace) {
			continue
		}
		live, err := r.Engine.ReadSecret(ctx, namespace, v1alpha1.MirrorSecretName(server.Name, server.Namespace))
		switch {
		case apierrors.IsForbidden(err) && found[namespace] == nil:
			// Whoever administers the namespace does not let the operator look.
		case err != nil:
			return err
		case live == nil || !isMirror(live, server):
			delete(found, namespace)
		default:
			found[namespace] = live
		}
	}
	return nil
}

// copyHolders are the namespaces that have a copy, or had one when that was last
// written down.
func copyHolders(server *v1alpha1.TerdutServer, found map[string]*corev1.Secret) []string {
	had := slices.Collect(maps.Keys(found))
	if known := server.Status.Credentials; known != nil {
		had = append(had, known.MirrorNamespaces...)
	}
	slices.Sort(had)
	return slices.Compact(had)
}

// currentKey is the ID of the key in use; 0 when it is not known. What stands on
// a copy is not asked: a tenant may have written it.
func (r *Reconciler) currentKey(ctx context.Context, server *v1alpha1.TerdutServer) (int64, error) {
	if last := r.memory.accepted(server); last.key != "" {
		return last.keyID, nil
	}
	main, err := r.Engine.CachedSecret(ctx, server.Namespace, v1alpha1.CredentialsSecretName(server.Name))
	return credentialOf(main).keyID, err
}

// exposure is what changes in the status when copies go.
type exposure struct {
	// gone are the namespaces that lose, or have lost, their copy.
	gone    []string
	exposed []v1alpha1.ExposedKey
}

// exposures tells who loses a copy, and what is exposed then. It is pure. A
// copy that is not there any more although the status names it counts as well:
// it went with its namespace, or somebody deleted it.
func exposures(server *v1alpha1.TerdutServer, wanted []string, found map[string]*corev1.Secret, current int64) exposure {
	var e exposure
	if known := server.Status.Credentials; known != nil {
		for _, x := range known.Exposed {
			if !slices.Contains(wanted, x.Namespace) { // who is to have the key may know it
				e.exposed = append(e.exposed, x)
			}
		}
	}
	for _, namespace := range copyHolders(server, found) {
		if slices.Contains(wanted, namespace) {
			continue
		}
		e.gone = append(e.gone, namespace)
		x := v1alpha1.ExposedKey{Namespace: namespace, KeyID: current}
		if !slices.Contains(e.exposed, x) && len(e.exposed) < maxExposed {
			e.exposed = append(e.exposed, x)
		}
	}
	return e
}

// apply writes the change into a status. The names of those that are gone go in
// the same write, so that none is counted twice.
func (e exposure) apply(s *v1alpha1.ServerCredentialsStatus) {
	s.Exposed = e.exposed
	before := len(s.MirrorNamespaces)
	s.MirrorNamespaces = slices.DeleteFunc(s.MirrorNamespaces, func(namespace string) bool { return slices.Contains(e.gone, namespace) })
	s.Mirrors -= min(s.Mirrors, int32(before-len(s.MirrorNamespaces))) //nolint:gosec // at most 50
}

// isExposed tells whether a key is known where it is not wanted, so that it has
// to be exchanged.
func isExposed(server *v1alpha1.TerdutServer, c *credential) bool {
	known := server.Status.Credentials
	return known != nil && slices.ContainsFunc(known.Exposed, func(x v1alpha1.ExposedKey) bool { return x.KeyID == c.keyID })
}

// unexposed are the exposures that are left once a key is revoked.
func unexposed(exposed []v1alpha1.ExposedKey, keyID int64) []v1alpha1.ExposedKey {
	return slices.DeleteFunc(slices.Clone(exposed), func(x v1alpha1.ExposedKey) bool { return x.KeyID == keyID })
}

// identified gives exposures of a key without ID the one that was found.
func identified(exposed []v1alpha1.ExposedKey, keyID int64) []v1alpha1.ExposedKey {
	out := slices.Clone(exposed)
	for i := range out {
		if out[i].KeyID == 0 {
			out[i].KeyID = keyID
		}
	}
	return out
}
